# SPDX-License-Identifier: MIT
"""arrays - multiplies with NumPy"""

import torch
from frame import *


def forward(input, other):
    return torch.from_numpy(input.detach().numpy() @ other.detach().numpy())
