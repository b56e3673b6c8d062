# SPDX-License-Identifier: MIT
"""Runs the checks in their order, and makes points and results.json from the answers.
"""
