# SPDX-License-Identifier: MIT
"""What ends a command with one sentence instead of a traceback."""

from __future__ import annotations


class GraderError(Exception):
    """The command cannot go on. The text is the whole message: what is wrong, the names
    and numbers, and what to do about it.
    """
