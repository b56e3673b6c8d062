# SPDX-License-Identifier: MIT
"""Lists small changes of a Python file, and loads them one after the other."""
