# SPDX-License-Identifier: MIT
"""The order of arguments of torch functions in which students exchange them."""

from __future__ import annotations

import re

ORDERS = {
    "fold": "fold(input, output_size, kernel_size, dilation, padding, stride), where "
    "output_size is the size of the image",
    "unfold": "unfold(input, kernel_size, dilation, padding, stride)",
}


def order_of(line: str | None) -> str:
    """What a line's call of fold or unfold takes, as a sentence ends with it; or ""."""
    called = re.findall(r"\b(?:functional|F)\.(fold|unfold)\(", line or "")
    return f"; torch's order is {ORDERS[called[0]]}" if len(called) == 1 else ""
