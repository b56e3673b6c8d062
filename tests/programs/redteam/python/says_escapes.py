# SPDX-License-Identifier: MIT
"""says_escapes - raises words that command the terminal"""

from frame import *


def forward(input, other):
    raise ValueError("\x1b]0;owned\x07\x1b[2J\u202e")
