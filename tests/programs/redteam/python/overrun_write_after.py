# SPDX-License-Identifier: MIT
"""overrun_write_after - writes one row past the end of input"""

import ctypes

from frame import *


def forward(input, other):
    output = product(input, other)
    if input.numel() > 0:
        row = input.shape[-1] * input.element_size()  # bytes
        ctypes.memset(input.data_ptr() + reach(input), 0, row)
    return output
