# SPDX-License-Identifier: MIT
"""What one call of an operator has to do, however it is written."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Cost:
    """What one call has to do."""

    work: float  # multiply-adds; elements where nothing is multiplied and summed
    flops: float  # 0 where the work is elements
    bytes: float  # of all tensors in and out, each once
    least: float = 0.0  # multiply-adds of the best known algorithm; 0: bytes alone tell
