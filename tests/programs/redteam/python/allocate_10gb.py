# SPDX-License-Identifier: MIT
"""allocate_10gb - asks for 10 GiB at once and touches every page"""

import torch
from frame import *


def forward(input, other):
    torch.ones(10 << 30, dtype=torch.uint8)  # refused: RuntimeError
    return product(input, other)
