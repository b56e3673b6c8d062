# SPDX-License-Identifier: MIT
"""Derives the trees of a course, and searches them for solutions."""
