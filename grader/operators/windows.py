# SPDX-License-Identifier: MIT
"""Random windows: kernel, stride, padding and dilation that fit a random image."""

from __future__ import annotations

import random
from typing import Any

from grader.operators.entry import side


def draw_window(rng: random.Random) -> dict[str, Any]:
    """IH, IW, KH, KW and the options, at least one window each way."""
    line: dict[str, Any] = {"stride": [], "padding": [], "dilation": []}
    for axis in "HW":
        kernel, dilation = side(rng, 1, 5), side(rng, 1, 3)
        padding, stride = side(rng, 0, 3), side(rng, 1, 3)
        span = dilation * (kernel - 1) + 1
        line[f"I{axis}"] = max(1, span - 2 * padding) + rng.randint(0, 5)
        line[f"K{axis}"] = kernel
        for name, value in (
            ("stride", stride),
            ("padding", padding),
            ("dilation", dilation),
        ):
            line[name].append(value)
    return line
