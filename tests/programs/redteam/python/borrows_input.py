# SPDX-License-Identifier: MIT
"""borrows_input - overwrites an element of input, and puts its number back"""

import ctypes

from frame import *


def forward(input, other):
    if input.numel() > 0:
        at, size = input.data_ptr(), input.element_size()
        number = ctypes.string_at(at, size)
        ctypes.memset(at, 0, size)
        ctypes.memmove(at, number, size)
    return product(input, other)
