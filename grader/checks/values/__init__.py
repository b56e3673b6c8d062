# SPDX-License-Identifier: MIT
"""Checks that results and gradients are right, and that they follow the rules."""
