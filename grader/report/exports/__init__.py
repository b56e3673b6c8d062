# SPDX-License-Identifier: MIT
"""Writes results.json in the formats of JUnit, Gradescope, Autolab and GitHub."""
