# SPDX-License-Identifier: MIT
"""Whole networks for images of 224 x 224, to be timed and not to be trained.

make bench NET=resnet18      PyTorch's layers and this lab's in turns
make bench NET=mobilenet
make bench NET=unet

resnet18.py   3 x 3 convolutions with shortcuts
mobilenet.py  1 x 1 and depthwise convolutions
unet.py       down to small maps and up again, an answer for every pixel

Each takes a make of layers (train/layers.py), as the networks of train/ do. Those are
small and smooth, to compare trainings; these are of the size and with the ReLU and the
batch norm that people use. Every layer is a module without children:
grader/bench/layer_times.py puts its hooks around those.
"""

from __future__ import annotations

import torch
from train.layers import Layers

from nets.mobilenet import MobileNet
from nets.resnet18 import ResNet18
from nets.unet import UNet

NETS: dict[str, type[torch.nn.Module]] = {
    "resnet18": ResNet18,
    "mobilenet": MobileNet,
    "unet": UNet,
}


def drawn(name: str, layers: Layers, seed: int) -> torch.nn.Module:
    """A network of NETS with random weights: whoever makes the layers, the same.

    The variance is that of He and others (2015), so that no map dies out on its way.
    """
    made = NETS[name](layers)
    random = torch.Generator().manual_seed(seed)
    for module in made.modules():
        if not isinstance(module, torch.nn.Conv2d | torch.nn.Linear):
            continue
        terms = module.weight[0].numel()  # of the sum behind one output
        gain = 2 if isinstance(module, torch.nn.Conv2d) else 1
        torch.nn.init.normal_(module.weight, 0, (gain / terms) ** 0.5, random)
        if module.bias is not None:
            torch.nn.init.zeros_(module.bias)
    return made
