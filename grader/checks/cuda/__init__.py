# SPDX-License-Identifier: MIT
"""Checks that only rungs of lab 04 have: by cusim, and on a card."""
