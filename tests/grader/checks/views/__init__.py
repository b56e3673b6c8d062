# SPDX-License-Identifier: MIT
"""Tests of the checks of views."""
