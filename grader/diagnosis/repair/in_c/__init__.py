# SPDX-License-Identifier: MIT
"""Lists small changes of a C file, and builds a library with all of them."""
