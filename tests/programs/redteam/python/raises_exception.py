# SPDX-License-Identifier: MIT
"""raises_exception - raises ValueError"""

from frame import *


def forward(input, other):
    raise ValueError("no luck")
