# SPDX-License-Identifier: MIT
"""wrong_dtype - returns double for float and float for double"""

import torch
from frame import *


def matmul(input, other):
    output = MatMulFunction.apply(input, other)
    return output.float() if output.dtype == torch.float64 else output.double()
