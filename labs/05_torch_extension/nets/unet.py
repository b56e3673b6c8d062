# SPDX-License-Identifier: MIT
"""U-Net (Ronneberger and others, 2015), half as wide: an answer for every pixel.

Three things differ from the paper. The convolutions pad, so that the answer is as large
as the image; they are normalised; and a map grows by repeating its pixels, not by a
transposed convolution, which this lab does not have.
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn
from train.layers import Layers

CLASSES = 2
WIDTHS = (32, 64, 128, 256, 512)  # channels of the five levels


def normed(layers: Layers, IC: int, OC: int) -> list[nn.Module]:
    """A 3 x 3 convolution with what follows it."""
    conv = layers.conv2d(IC, OC, 3, padding=1, bias=False)
    return [conv, nn.BatchNorm2d(OC), nn.ReLU()]


def twice(layers: Layers, IC: int, OC: int) -> nn.Sequential:
    """What a level does on its way down and on its way up."""
    return nn.Sequential(*normed(layers, IC, OC), *normed(layers, OC, OC))


class UNet(nn.Module):
    """Images (N, 3, H, W) to scores (N, CLASSES, H, W); H and W multiples of 16."""

    def __init__(self, layers: Layers) -> None:
        super().__init__()
        pairs = list(pairwise(WIDTHS))  # of a level and the one below it
        self.top = twice(layers, 3, WIDTHS[0])
        self.pools = nn.ModuleList(nn.MaxPool2d(2) for _ in pairs)
        self.down = nn.ModuleList(twice(layers, IC, OC) for IC, OC in pairs)
        back = [(below, here) for here, below in reversed(pairs)]
        self.larger = nn.ModuleList(nn.Upsample(scale_factor=2) for _ in back)
        self.narrow = nn.ModuleList(
            nn.Sequential(*normed(layers, IC, OC)) for IC, OC in back
        )
        self.up = nn.ModuleList(twice(layers, 2 * OC, OC) for _, OC in back)
        self.score = layers.conv2d(WIDTHS[0], CLASSES, 1)

    def forward(self, images: Tensor) -> Tensor:
        """(N, 3, H, W) -> (N, CLASSES, H, W)."""
        maps = self.top(images)
        kept = []
        for pool, level in zip(self.pools, self.down):
            kept.append(maps)
            maps = level(pool(maps))  # half as large, twice as many channels
        for larger, narrow, level in zip(self.larger, self.narrow, self.up):
            maps = torch.cat([kept.pop(), narrow(larger(maps))], 1)
            maps = level(maps)
        return self.score(maps)
