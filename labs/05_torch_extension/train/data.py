# SPDX-License-Identifier: MIT
"""Small images with labels 0 to 9, as tensors.

`digits` comes with scikit-learn: 1797 handwritten digits of 8 x 8 pixels. `fashion` is
Debian's package dataset-fashion-mnist, `mnist` is fetched by torchvision: 60000 images
of 28 x 28 to train with, 10000 to test.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

FASHION = Path("/usr/share/datasets/fashion-mnist")  # of the package
TEST_SHARE = 5  # of digits every fifth image, after shuffling, is for the test


class Absent(Exception):
    """Something is not installed or not written; the sentence says what to do."""


@dataclass(frozen=True)
class Split:
    """Images (N, 1, H, W) and their labels (N)."""

    images: Tensor
    labels: Tensor

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class Data:
    """What is learned from, and what is asked afterwards."""

    name: str
    train: Split
    test: Split

    def to(self, device: str, dtype: torch.dtype) -> Data:
        """The same, where the network will be."""
        splits = (
            Split(split.images.to(device, dtype), split.labels.to(device))
            for split in (self.train, self.test)
        )
        return Data(self.name, *splits)


def load(name: str, folder: Path) -> Data:
    """One of NAMES; `folder` is for what has to be fetched.

    Raises Absent if it is not on this machine.
    """
    if name == "mnist":
        return mnist(folder)
    return fashion() if name == "fashion" else digits()


NAMES = ("digits", "fashion", "mnist")


def centred(images: Tensor, labels: Tensor) -> Split:
    """Grey values (N, H, W) of any scale become (N, 1, H, W) from -1 to 1."""
    scaled = images.double() / images.max() * 2 - 1
    return Split(scaled.unsqueeze(1), labels.long())


def digits() -> Data:
    """scikit-learn's; which image is in the test is the same for every SEED."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise Absent(
            "DATA=digits needs the package scikit-learn (requirements/development.txt)"
        ) from None
    found = load_digits()
    images, labels = torch.from_numpy(found.images), torch.from_numpy(found.target)
    mixed = torch.randperm(len(labels), generator=torch.Generator().manual_seed(0))
    whole = centred(images[mixed], labels[mixed])
    tested = torch.arange(len(whole)) % TEST_SHARE == 0
    return Data(
        "digits",
        Split(whole.images[~tested], whole.labels[~tested]),
        Split(whole.images[tested], whole.labels[tested]),
    )


def fashion(folder: Path = FASHION) -> Data:
    """Pictures of clothes, in the files of MNIST."""
    if not folder.is_dir():
        raise Absent(
            f"DATA=fashion needs {folder}: apt-get install dataset-fashion-mnist "
            "(Debian, Ubuntu); DATA=digits is always there"
        )
    parts = (
        centred(*(idx(folder / f"{part}-{what}.gz") for what in WHAT))
        for part in ("train", "t10k")
    )
    return Data("fashion", *parts)


WHAT = ("images-idx3-ubyte", "labels-idx1-ubyte")


def idx(file: Path) -> Tensor:
    """A file of MNIST: 0 0 8 and the number of axes, the sizes, then bytes."""
    content = gzip.decompress(file.read_bytes())
    axes = content[3]
    sizes = np.frombuffer(content, ">i4", axes, offset=4)
    values = np.frombuffer(content, np.uint8, offset=4 + 4 * axes)
    return torch.from_numpy(values.reshape(sizes).copy())


def mnist(folder: Path) -> Data:
    """Handwritten digits, downloaded once."""
    try:
        from torchvision.datasets import MNIST
    except ImportError:
        raise Absent(
            "DATA=mnist needs torchvision, of the version that fits your torch: "
            "pip install torchvision; DATA=digits needs nothing"
        ) from None
    try:
        sets = [MNIST(folder, train=part, download=True) for part in (True, False)]
    except (OSError, RuntimeError) as error:
        said = str(error).partition("\n")[0]
        raise Absent(
            f"DATA=mnist could not be downloaded ({said}); is there a network? "
            "DATA=digits needs none"
        ) from None
    return Data("mnist", *(centred(part.data, part.targets) for part in sets))
