# SPDX-License-Identifier: MIT
"""missing_function - misspells the function's name"""

from frame import *

matmull = matmul
del matmul  # noqa: F821
