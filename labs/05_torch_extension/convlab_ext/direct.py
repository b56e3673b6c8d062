# SPDX-License-Identifier: MIT
"""conv2d without Winograd: infinities and NaN stay where PyTorch has them.

    CONVLAB_DIRECT=1 python PROGRAM      # in the whole program

    with convlab_ext.direct():           # or here
        y = convlab_ext.conv2d(x, weight)
        y.sum().backward()

Winograd's transforms add and subtract the pixels of a tile before they are multiplied.
One infinity reaches every output of its tile, and infinity minus infinity is NaN: the
outputs that should be infinite are NaN, and so are neighbours that should be finite.
The switch lets other rungs serve conv2d on the processor, slower ones, those that
kernels.direct names in lab.toml. Other operators, and a card, have no Winograd.

The switch holds for all threads of the process, as torch.backends.mkldnn.flags does.
Around backward() it has to be on as well, and around the call of a function that
torch.compile has made, not inside of that function.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import torch

WORD = "CONVLAB_DIRECT"  # in the environment
NAMESPACES = ("convlab", "convlab_aten")  # each library has a switch of its own


def switch(*, on: bool | None = None) -> bool:
    """Turn it in every library that is loaded, or leave it as it is. Returns what held
    before.

    Raises RuntimeError if the library was built without a second set of kernels.
    """
    there = [
        getattr(torch.ops, space).conv2d_direct
        for space in NAMESPACES
        if hasattr(getattr(torch.ops, space), "conv2d_direct")
    ]
    return any([turn(on) for turn in there])


@contextlib.contextmanager
def direct(*, on: bool = True) -> Iterator[None]:
    """Without Winograd inside of the block; with it if `on` is False."""
    before = switch(on=on)
    try:
        yield
    finally:
        switch(on=before)


def from_environment() -> None:
    """Turn the switch as the environment says. Raises ValueError for another word."""
    word = os.environ.get(WORD, "")
    if word not in ("", "0", "1"):
        raise ValueError(f"{WORD} is {word!r}, expected 1 (without Winograd) or 0")
    if word == "1":
        switch(on=True)
