# SPDX-License-Identifier: MIT
"""Tests of grader/engine/marks."""
