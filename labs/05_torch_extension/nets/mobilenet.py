# SPDX-License-Identifier: MIT
"""MobileNet, version 2 (Sandler and others, 2018): 1 x 1 and depthwise convolutions."""

from __future__ import annotations

from collections.abc import Iterator

from torch import Tensor, nn
from train.layers import Layers

CLASSES = 1000
FIRST, LAST = 32, 1280  # channels behind the first layer and before the scores
STAGES = (  # factor by which a block widens, its channels, blocks, stride of the first
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


def normed(conv: nn.Module, OC: int) -> Iterator[nn.Module]:
    """A convolution with what follows it."""
    yield from (conv, nn.BatchNorm2d(OC), nn.ReLU6())


class Block(nn.Module):
    """Wider by 1 x 1, each channel filtered, narrow again by 1 x 1; the input is added
    where the sizes are the same.
    """

    def __init__(
        self, layers: Layers, IC: int, OC: int, factor: int, stride: int
    ) -> None:
        super().__init__()
        wide = factor * IC
        made: list[nn.Module] = []
        if factor > 1:
            made += normed(layers.conv2d(IC, wide, 1, bias=False), wide)
        options = {"stride": stride, "padding": 1, "bias": False}
        made += normed(layers.depthwise_conv2d(wide, 3, **options), wide)
        made += [layers.conv2d(wide, OC, 1, bias=False), nn.BatchNorm2d(OC)]
        self.layers = nn.Sequential(*made)
        self.adds = stride == 1 and IC == OC

    def forward(self, maps: Tensor) -> Tensor:
        """(N, IC, H, W) -> (N, OC, H/stride, W/stride)."""
        found = self.layers(maps)
        return maps + found if self.adds else found


class MobileNet(nn.Module):
    """Images (N, 3, H, W) to scores (N, CLASSES); H and W from 32 on."""

    def __init__(self, layers: Layers) -> None:
        super().__init__()
        options = {"stride": 2, "padding": 1, "bias": False}
        made = [*normed(layers.conv2d(3, FIRST, 3, **options), FIRST)]
        IC = FIRST
        for factor, OC, blocks, first in STAGES:
            for number in range(blocks):
                stride = first if number == 0 else 1
                made.append(Block(layers, IC, OC, factor, stride))
                IC = OC
        made += normed(layers.conv2d(IC, LAST, 1, bias=False), LAST)
        self.layers = nn.Sequential(*made)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.linear = layers.linear(LAST, CLASSES)

    def forward(self, images: Tensor) -> Tensor:
        """(N, 3, H, W) -> (N, CLASSES)."""
        maps = self.layers(images)  # (N, LAST, H/32, W/32)
        return self.linear(self.pool(maps).flatten(1))
