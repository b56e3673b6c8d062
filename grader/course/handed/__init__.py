# SPDX-License-Identifier: MIT
"""Reads a handout's extra files: the starters as handed out, and sealed solutions."""
