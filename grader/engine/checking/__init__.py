# SPDX-License-Identifier: MIT
"""Checks one rung: which checks it gets, and by which workers."""
