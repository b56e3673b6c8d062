# SPDX-License-Identifier: MIT
"""overrun_read_before - reads one row before the start of input and mixes it in"""

import ctypes

import torch
from frame import *


def forward(input, other):
    output = product(input, other)
    if input.numel() > 0:
        row = input.shape[-1] * input.element_size()  # bytes
        outside = ctypes.string_at(input.data_ptr() - row, row)
        values = torch.frombuffer(bytearray(outside), dtype=input.dtype)  # (K)
        output += values.sum()
    return output
