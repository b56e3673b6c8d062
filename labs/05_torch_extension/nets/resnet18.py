# SPDX-License-Identifier: MIT
"""ResNet with 18 layers (He and others, 2016): 3 x 3 convolutions and shortcuts."""

from __future__ import annotations

from torch import Tensor, nn
from train.layers import Layers

CLASSES = 1000
WIDTHS = (64, 128, 256, 512)  # channels of the four stages; each has two blocks


class Block(nn.Module):
    """Two convolutions, and the input added: the input itself where the sizes are the
    same, else by a 1 x 1 convolution.
    """

    def __init__(self, layers: Layers, IC: int, OC: int, stride: int) -> None:
        super().__init__()
        options = {"padding": 1, "bias": False}
        self.conv1 = layers.conv2d(IC, OC, 3, stride=stride, **options)
        self.norm1 = nn.BatchNorm2d(OC)
        self.relu1 = nn.ReLU()
        self.conv2 = layers.conv2d(OC, OC, 3, **options)
        self.norm2 = nn.BatchNorm2d(OC)
        self.relu2 = nn.ReLU()
        self.shortcut = None
        if stride > 1 or IC != OC:
            conv = layers.conv2d(IC, OC, 1, stride=stride, bias=False)
            self.shortcut = nn.Sequential(conv, nn.BatchNorm2d(OC))

    def forward(self, maps: Tensor) -> Tensor:
        """(N, IC, H, W) -> (N, OC, H/stride, W/stride)."""
        found = self.relu1(self.norm1(self.conv1(maps)))
        found = self.norm2(self.conv2(found))
        added = self.shortcut(maps) if self.shortcut else maps
        return self.relu2(found + added)


class ResNet18(nn.Module):
    """Images (N, 3, H, W) to scores (N, CLASSES); H and W from 32 on."""

    def __init__(self, layers: Layers) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            layers.conv2d(3, WIDTHS[0], 7, stride=2, padding=3, bias=False),
            nn.BatchNorm2d(WIDTHS[0]),
            nn.ReLU(),
            nn.MaxPool2d(3, stride=2, padding=1),
        )
        self.blocks = nn.Sequential()
        IC = WIDTHS[0]
        for OC in WIDTHS:
            self.blocks.append(Block(layers, IC, OC, 1 if OC == IC else 2))
            self.blocks.append(Block(layers, OC, OC, 1))
            IC = OC
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.linear = layers.linear(IC, CLASSES)

    def forward(self, images: Tensor) -> Tensor:
        """(N, 3, H, W) -> (N, CLASSES)."""
        maps = self.blocks(self.stem(images))  # (N, 512, H/32, W/32)
        return self.linear(self.pool(maps).flatten(1))
