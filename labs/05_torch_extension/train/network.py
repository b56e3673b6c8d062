# SPDX-License-Identifier: MIT
"""The network: two convolutions and three linear layers, after LeNet-5 (1998).

tanh and average pooling, as LeCun had them: the loss is a smooth function of all
weights, so that two makes of a layer that differ by rounding stay close for long. With
ReLU and maxima one last bit can send a gradient another way.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import avg_pool2d

from train.layers import Layers

CLASSES = 10


class LeNet(torch.nn.Module):
    """Images (N, 1, H, W) to scores (N, 10), its layers made by `layers`."""

    def __init__(self, layers: Layers, height: int, width: int) -> None:
        super().__init__()
        pixels = (height // 4) * (width // 4)  # two poolings halve twice
        self.conv1 = layers.conv2d(1, 6, 5, padding=2)
        self.conv2 = layers.conv2d(6, 16, 5, padding=2)
        self.linear1 = layers.linear(16 * pixels, 120)
        self.linear2 = layers.linear(120, 84)
        self.linear3 = layers.linear(84, CLASSES)

    def forward(self, images: Tensor) -> Tensor:
        """(N, 1, H, W) -> (N, 10)."""
        maps = avg_pool2d(torch.tanh(self.conv1(images)), 2)  # (N, 6, H/2, W/2)
        maps = avg_pool2d(torch.tanh(self.conv2(maps)), 2)  # (N, 16, H/4, W/4)
        values = torch.tanh(self.linear1(maps.flatten(1)))  # (N, 120)
        values = torch.tanh(self.linear2(values))  # (N, 84)
        return self.linear3(values)  # (N, 10)
