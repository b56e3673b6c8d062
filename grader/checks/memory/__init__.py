# SPDX-License-Identifier: MIT
"""Checks that a rung reads and writes only its own memory."""
