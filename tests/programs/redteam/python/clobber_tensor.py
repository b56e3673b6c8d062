# SPDX-License-Identifier: MIT
"""clobber_tensor - gives the right numbers in another shape: all in one row"""

from frame import *


def forward(input, other):
    output = product(input, other)
    output.resize_(output.numel())
    return output
