# SPDX-License-Identifier: MIT
"""write_to_input - computes rightly, then clears the first element of input"""

import ctypes

from frame import *


def forward(input, other):
    output = product(input, other)
    if input.numel() > 0:
        ctypes.memset(input.data_ptr(), 0, input.element_size())
    return output
