# SPDX-License-Identifier: MIT
"""unspeakable - raises an exception whose words are no text"""

from frame import *


def forward(input, other):
    raise ValueError("\udc80")
