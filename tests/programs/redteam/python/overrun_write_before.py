# SPDX-License-Identifier: MIT
"""overrun_write_before - writes one row before the start of input"""

import ctypes

from frame import *


def forward(input, other):
    output = product(input, other)
    if input.numel() > 0:
        row = input.shape[-1] * input.element_size()  # bytes
        ctypes.memset(input.data_ptr() - row, 0, row)
    return output
