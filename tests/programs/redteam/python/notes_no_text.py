# SPDX-License-Identifier: MIT
"""notes_no_text - raises an exception whose notes are a number, and whose text is none"""

from frame import *


class Mute(ValueError):
    """No text can be made of it."""

    def __str__(self):
        raise RuntimeError("no words")


def forward(input, other):
    error = Mute()
    error.__notes__ = 5
    raise error
