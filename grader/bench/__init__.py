# SPDX-License-Identifier: MIT
"""Timing of every rung on every case: `make bench`."""
