# SPDX-License-Identifier: MIT
"""Finds what the files of two students have in common, for a person to look at."""
