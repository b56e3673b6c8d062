# SPDX-License-Identifier: MIT
"""Checks that only rungs of lab 04 have: they use cusim or a card."""
