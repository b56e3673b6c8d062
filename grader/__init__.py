# SPDX-License-Identifier: MIT
"""The grader: builds students' rungs, runs them in isolation, checks and scores them."""
