# SPDX-License-Identifier: MIT
"""Tests of grader/report/exports: each format is opened by a reader that is not ours."""
