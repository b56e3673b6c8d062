# SPDX-License-Identifier: MIT
"""Conv2d and Linear: torch.nn's modules with convlab's operators inside.

They inherit constructor, parameters, initialisation, state_dict and repr, so that a
network changes hands by changing one name; only the product is ours. The operators are
looked up when they are called: one that is not built says so then.
"""

from __future__ import annotations

import torch
from torch import Tensor

import convlab_ext


class Conv2d(torch.nn.Conv2d):
    """torch.nn.Conv2d, all arguments; padding_mode other than zeros pads first."""

    def _conv_forward(
        self, input: Tensor, weight: Tensor, bias: Tensor | None
    ) -> Tensor:
        """(N, IC, IH, IW) -> (N, OC, OH, OW); torch.nn.Conv2d.forward calls it."""
        padding = self.padding
        if self.padding_mode != "zeros":
            around = self._reversed_padding_repeated_twice
            input = torch.nn.functional.pad(input, around, mode=self.padding_mode)
            padding = 0
        return convlab_ext.conv2d(
            input, weight, bias, self.stride, padding, self.dilation, self.groups
        )


class Linear(torch.nn.Linear):
    """torch.nn.Linear."""

    def forward(self, input: Tensor) -> Tensor:
        """(..., IC) -> (..., OC)."""
        return convlab_ext.linear(input, self.weight, self.bias)
