# SPDX-License-Identifier: MIT
"""forgotten_elements - never writes the last row of each matrix"""

import torch
from frame import *


def forward(input, other):
    output = torch.empty(*input.shape[:-1], other.shape[-1], dtype=input.dtype)
    output[..., :-1, :] = product(input[..., :-1, :], other)
    return output
