# SPDX-License-Identifier: MIT
"""Tests of grader/batch."""
