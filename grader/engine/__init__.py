# SPDX-License-Identifier: MIT
"""Runs the checks in order, and makes points and results.json from the answers."""
