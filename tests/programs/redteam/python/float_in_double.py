# SPDX-License-Identifier: MIT
"""float_in_double - computes in float for double tensors too"""

from frame import *


def forward(input, other):
    return product(input.float(), other.float()).to(input.dtype)
