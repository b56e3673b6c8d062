# SPDX-License-Identifier: MIT
"""From rungs to objects: make, compilers, symbols, linking, and their sandbox."""
