# SPDX-License-Identifier: MIT
"""uses_library - calls torch.matmul"""

import torch
from frame import *


def forward(input, other):
    return torch.matmul(input, other)
