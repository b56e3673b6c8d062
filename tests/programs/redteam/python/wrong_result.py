# SPDX-License-Identifier: MIT
"""wrong_result - makes one element 1 % too large"""

from frame import *


def forward(input, other):
    output = product(input, other)
    middle = output.numel() // 2
    output.view(-1)[middle : middle + 1] *= 1.01
    return output
