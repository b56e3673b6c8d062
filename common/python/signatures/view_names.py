# SPDX-License-Identifier: MIT
"""Lists the functions of common/tensor_view.h, in the order of common/view_calls.c.

The C side of the contract is the header; a test compares both lists.
"""

from __future__ import annotations

TENSOR_VIEW = "tensor_view"  # the folder of their ladder
PREFIX = "view_"  # of their symbols
VIEWS = (
    "as_strided",
    "transpose",
    "slice",
    "expand",
    "reshape",
    "to_dlpack",
    "from_dlpack",
)
