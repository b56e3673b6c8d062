# SPDX-License-Identifier: MIT
"""drop_last_term - leaves out the last term of every sum"""

from frame import *


def forward(input, other):
    return product(input[..., :-1], other[..., :-1, :])
