# SPDX-License-Identifier: MIT
"""compile_error - a colon is missing"""

from frame import *


def matmul(input, other)
    return MatMulFunction.apply(input, other)
