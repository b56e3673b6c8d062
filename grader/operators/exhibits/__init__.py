# SPDX-License-Identifier: MIT
"""Describes the operators that only exhibits of a bug hunt have.

Each has one module with PyTorch's reference, and beside it one file with its cases.
common/python/signatures/of_exhibits.py has their argument lists.
"""
