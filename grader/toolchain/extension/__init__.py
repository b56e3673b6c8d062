# SPDX-License-Identifier: MIT
"""Lab 05: kernels and packages, built as their setup.py builds them."""
