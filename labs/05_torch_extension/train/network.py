# SPDX-License-Identifier: MIT
"""The networks: LeNet, a separable one, a transformer's block. NET= chooses.

Each is a smooth function of all its weights (tanh, GELU, means instead of maxima), so
that two makes of a layer that differ by rounding stay close for long. With ReLU and
maxima one last bit can send a gradient another way.

The layers are children of the network itself, and the name of each begins with what it
is: that is how the profiler tells a convolution's time from a linear layer's. RATE is
the learning rate that suits the network.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import avg_pool2d, group_norm

from train.layers import Layers

CLASSES = 10


class Network(torch.nn.Module):
    """Images (N, 1, H, W) to scores (N, 10), its layers made by `layers`."""

    RATE: float

    def __init__(self, layers: Layers, height: int, width: int) -> None:
        super().__init__()


class LeNet(Network):
    """Two convolutions, three linear layers, after LeNet-5 (LeCun and others, 1998)."""

    RATE = 0.1

    def __init__(self, layers: Layers, height: int, width: int) -> None:
        super().__init__(layers, height, width)
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


class Separable(Network):
    """Separable convolutions, after MobileNet (Howard and others, 2017): each channel
    is filtered by itself, then a 1 x 1 convolution mixes the channels. Each image's
    maps are normalised in between, by PyTorch in every make.
    """

    RATE = 0.02

    def __init__(self, layers: Layers, height: int, width: int) -> None:
        super().__init__(layers, height, width)
        pixels = (height // 4) * (width // 4)
        self.conv1 = layers.conv2d(1, 8, 3, padding=1)
        self.depthwise1 = layers.depthwise_conv2d(8, 3, padding=1)
        self.conv2 = layers.conv2d(8, 16, 1)
        self.depthwise2 = layers.depthwise_conv2d(16, 3, padding=1)
        self.conv3 = layers.conv2d(16, 32, 1)
        self.gelu = layers.gelu()
        self.linear1 = layers.linear(32 * pixels, CLASSES)

    def forward(self, images: Tensor) -> Tensor:
        """(N, 1, H, W) -> (N, 10)."""
        maps = self.gelu(group_norm(self.conv1(images), 1))  # (N, 8, H, W)
        maps = self.conv2(self.depthwise1(maps))  # (N, 16, H, W)
        maps = avg_pool2d(self.gelu(group_norm(maps, 1)), 2)  # (N, 16, H/2, W/2)
        maps = self.conv3(self.depthwise2(maps))  # (N, 32, H/2, W/2)
        maps = avg_pool2d(self.gelu(group_norm(maps, 1)), 2)  # (N, 32, H/4, W/4)
        return self.linear1(maps.flatten(1))  # (N, 10)


class Transformer(Network):
    """One block of a transformer over patches of the image, normalised first (Vaswani
    and others, 2017; Dosovitskiy and others, 2020). A patch has SIDE x SIDE pixels.
    """

    RATE = 0.2
    SIDE, WIDTH, HIDDEN, HEADS = 2, 32, 64, 4

    def __init__(self, layers: Layers, height: int, width: int) -> None:
        super().__init__(layers, height, width)
        patches = (height // self.SIDE) * (width // self.SIDE)
        self.linear_patch = layers.linear(self.SIDE**2, self.WIDTH)
        self.place = torch.nn.Parameter(0.02 * torch.randn(patches, self.WIDTH))
        self.norm1 = layers.layer_norm(self.WIDTH)
        self.linear_qkv = layers.linear(self.WIDTH, 3 * self.WIDTH)
        self.linear_out = layers.linear(self.WIDTH, self.WIDTH)
        self.norm2 = layers.layer_norm(self.WIDTH)
        self.linear_up = layers.linear(self.WIDTH, self.HIDDEN)
        self.gelu = layers.gelu()
        self.linear_down = layers.linear(self.HIDDEN, self.WIDTH)
        self.norm3 = layers.layer_norm(self.WIDTH)
        self.linear_class = layers.linear(self.WIDTH, CLASSES)

    def forward(self, images: Tensor) -> Tensor:
        """(N, 1, H, W) -> (N, 10)."""
        values = self.linear_patch(self.patches(images)) + self.place  # (N, P, WIDTH)
        values = values + self.attention(self.norm1(values))
        hidden = self.gelu(self.linear_up(self.norm2(values)))  # (N, P, HIDDEN)
        values = values + self.linear_down(hidden)
        return self.linear_class(self.norm3(values).mean(1))  # (N, 10)

    def patches(self, images: Tensor) -> Tensor:
        """(N, 1, H, W) -> (N, P, SIDE*SIDE): the pixels of each patch in a row."""
        rows = images.squeeze(1).unfold(1, self.SIDE, self.SIDE)
        return rows.unfold(2, self.SIDE, self.SIDE).flatten(3).flatten(1, 2)

    def attention(self, values: Tensor) -> Tensor:
        """(N, P, WIDTH) -> (N, P, WIDTH): every patch asks every other one. Its two
        products are PyTorch's in every make.
        """
        asked = self.linear_qkv(values).unflatten(2, (3, self.HEADS, -1))
        query, key, value = asked.permute(2, 0, 3, 1, 4)  # (N, HEADS, P, WIDTH/HEADS)
        scores = query @ key.mT / query.shape[-1] ** 0.5  # (N, HEADS, P, P)
        seen = torch.softmax(scores, -1) @ value
        return self.linear_out(seen.transpose(1, 2).flatten(2))


NETS: dict[str, type[Network]] = {
    "lenet": LeNet,
    "separable": Separable,
    "transformer": Transformer,
}
