# SPDX-License-Identifier: MIT
"""Tests of the search for the line of a mistake."""
