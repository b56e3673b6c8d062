# SPDX-License-Identifier: MIT
"""Finds out which characters standard output can show."""

from __future__ import annotations

import sys


def encodes(characters: str) -> bool:
    """Whether its encoding has all of them."""
    try:
        characters.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
