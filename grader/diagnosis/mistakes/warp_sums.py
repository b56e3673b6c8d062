# SPDX-License-Identifier: MIT
"""The sums that the lanes of a warp hold where only lane 0 has all of them."""

from __future__ import annotations

import torch

WARP = 32


def _terms() -> torch.Tensor:
    """(32, 32): how often each lane's number is in a lane's sum after five steps of
    __shfl_down_sync; a lane whose source lies behind the warp gets its own sum again.
    """
    lanes = torch.arange(WARP)
    sums = torch.eye(WARP, dtype=torch.float64)
    for distance in (16, 8, 4, 2, 1):
        source = lanes + distance
        sums = sums + sums[torch.where(source < WARP, source, lanes)]
    return sums


def own_sums(t: torch.Tensor) -> torch.Tensor:
    """(..., D): for each element the sum of its row as its lane has it; lane l owns the
    elements l, l + 32, ...
    """
    D = t.shape[-1]
    wide = torch.nn.functional.pad(t, (0, -D % WARP)).unflatten(-1, (-1, WARP))
    sums: torch.Tensor = wide.sum(-2) @ _terms().mT  # (..., 32)
    return sums[..., torch.arange(D) % WARP]
