# SPDX-License-Identifier: MIT
"""Computes a student's mark in a course, from graded work, people's words and dates."""
