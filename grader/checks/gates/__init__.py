# SPDX-License-Identifier: MIT
"""Checks that an operator of lab 05 keeps PyTorch's contract for operators."""
