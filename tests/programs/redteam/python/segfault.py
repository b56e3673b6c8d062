# SPDX-License-Identifier: MIT
"""segfault - dereferences NULL"""

import ctypes

from frame import *


def forward(input, other):
    ctypes.string_at(0)
    return product(input, other)
