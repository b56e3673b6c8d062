# SPDX-License-Identifier: MIT
"""Writes the message of ``load`` if there is nothing to load."""

from __future__ import annotations


class LoadError(RuntimeError):
    """A rung cannot be had: a wrong name, a compile error, no compiler.

    The text is the whole message: what is wrong and what to do about it.
    """
