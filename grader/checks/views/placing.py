# SPDX-License-Identifier: MIT
"""Says where the elements of a tensor are in its storage, in words and as a PyTorch
tensor.

Two layouts are the same view if each index leads to the same address. Two things do not
count. One is a stride that no index multiplies. The other is the first address of an
empty tensor.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch

# in the order of dtype_t
DTYPES = (
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.int32,
    torch.int64,
)
CPU, CUDA = 0, 1  # device_t


@dataclass(frozen=True)
class Layout:
    """What a tensor_t says, with addresses as distances from the storage's start."""

    size: tuple[int, ...]
    stride: tuple[int, ...]
    start: int = 0  # bytes
    dtype: int = 2  # of DTYPES
    device: int = CPU

    @property
    def bytes(self) -> int:
        """Of one element."""
        return DTYPES[self.dtype].itemsize

    @property
    def numel(self) -> int:
        """How many elements."""
        return math.prod(self.size)

    @property
    def reach(self) -> int:
        """Bytes of a storage that just holds it; 0 if it is empty."""
        if not self.numel:
            return 0
        steps = sum((n - 1) * s for n, s in zip(self.size, self.stride))
        return self.start + (steps + 1) * self.bytes

    @property
    def meaning(self) -> tuple[Any, ...]:
        """Without the numbers that lead nowhere."""
        if not self.numel:
            return self.size, self.dtype, self.device
        seen = tuple(s for n, s in zip(self.size, self.stride) if n > 1)
        return self.size, self.dtype, self.device, seen, self.start

    def tensor(self, more: int = 0) -> torch.Tensor:
        """A tensor on the CPU that lies so, in a storage with `more` bytes after it."""
        storage = torch.UntypedStorage(self.reach + more)
        empty = torch.empty(0, dtype=DTYPES[self.dtype])
        if not self.numel:
            return empty.set_(storage, 0, self.size, self.stride)
        first = self.start // self.bytes
        return empty.set_(storage, first, self.size, self.stride)

    def __str__(self) -> str:
        """size (2, 3), stride (3, 1), offset 4."""
        words = f"size {self.size}, stride {self.stride}"
        whole, rest = divmod(self.start, self.bytes)
        return f"{words}, offset {whole}" + (f" and {rest} bytes" if rest else "")


def of(tensor: torch.Tensor, *, device: int = CPU) -> Layout:
    """How a tensor lies."""
    dtype = DTYPES.index(tensor.dtype)
    start = int(tensor.storage_offset()) * tensor.dtype.itemsize
    return Layout(tuple(tensor.shape), tensor.stride(), start, dtype, device)
