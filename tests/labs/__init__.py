# SPDX-License-Identifier: MIT
"""Tests of labs."""
