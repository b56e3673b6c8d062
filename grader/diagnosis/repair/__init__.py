# SPDX-License-Identifier: MIT
"""Finds the line of a mistake: with one small change of it, every case is right."""
