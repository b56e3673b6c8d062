# SPDX-License-Identifier: MIT
"""nan - writes one NaN"""

import torch
from frame import *


def forward(input, other):
    output = product(input, other)
    output.view(-1)[:1] = torch.nan
    return output
