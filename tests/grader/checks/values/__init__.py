# SPDX-License-Identifier: MIT
"""Tests of grader/checks/values."""
