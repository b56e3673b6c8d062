# SPDX-License-Identifier: MIT
"""A student's mark in a course: what was graded, by whom, and when it was handed in."""
