# SPDX-License-Identifier: MIT
"""Remembers the answers of gradings, and decides whether an answer still holds."""
