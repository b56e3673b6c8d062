# SPDX-License-Identifier: MIT
"""Makes objects from rungs: make, compilers, symbols, linking, and their sandbox."""
