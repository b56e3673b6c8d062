# SPDX-License-Identifier: MIT
"""Tests of common/python/ladders."""
