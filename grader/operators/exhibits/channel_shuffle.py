# SPDX-License-Identifier: MIT
"""channel_shuffle: torch.nn.functional.channel_shuffle of rows of L numbers."""

from __future__ import annotations

import random
from typing import Any

from grader.operators.case import Case
from grader.operators.entry import Operator, Tensors, side, some_layout


class ChannelShuffle(Operator):
    """Channels change their places. No number changes."""

    name = "channel_shuffle"
    forbidden = ("*channel_shuffle*", "*pixel_*shuffle*")

    def reference(self, *inputs: Any, **options: Any) -> Any:
        """As PyTorch's formula: (N, G, C/G, L) with two axes exchanged."""
        (x,) = inputs
        N, C, L = x.shape
        G = options["groups"]
        return x.reshape(N, G, C // G, L).transpose(1, 2).reshape(N, C, L)

    def terms(self, case: Case, inputs: Tensors) -> dict[str, int]:
        """Copies."""
        return {"output": 1, "input": 1}

    def draw(self, rng: random.Random) -> dict[str, Any]:
        """Any number of groups."""
        groups = side(rng, 1, 4)
        return {
            **{"N": side(rng, 1, 3), "L": side(rng, 1, 5)},
            **{"C": groups * side(rng, 1, 4), "groups": groups},
            "layout": some_layout(rng, "input", "grad_output"),
        }


OPERATOR = ChannelShuffle()
