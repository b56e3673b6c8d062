# SPDX-License-Identifier: MIT
"""Prints `make progress`: points, their history, and the next step."""
