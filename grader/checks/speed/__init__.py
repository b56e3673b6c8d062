# SPDX-License-Identifier: MIT
"""Measures how fast a rung is, and how fast this machine can be."""
