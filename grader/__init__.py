# SPDX-License-Identifier: MIT
"""The grader: builds rungs, runs them in isolation, checks and scores them."""
