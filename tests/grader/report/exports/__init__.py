# SPDX-License-Identifier: MIT
"""Tests of grader/report/exports: a reader that is not ours opens each format."""
