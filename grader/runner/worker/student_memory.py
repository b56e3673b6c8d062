# SPDX-License-Identifier: MIT
"""Places tensors in shared memory, and copies results back with the bits of a NaN."""

from __future__ import annotations

import ctypes
from typing import Any

import torch

from grader.runner.supervisor.wire import DTYPES as DTYPE_NAMES
from grader.runner.supervisor.wire import WireTensor

UNWRITTEN = 0x2FFF  # the tag of memory that torch.empty gave out
DTYPES = [getattr(torch, name) for name in DTYPE_NAMES]
POISON = {
    torch.float32: 0x7FA00000 | UNWRITTEN,
    torch.float64: 0x7FF4000000000000 | UNWRITTEN,
}


class ContractError(Exception):
    """What came back is not what the contract says."""


def view(wire: WireTensor, base: int) -> torch.Tensor:
    """The tensor that lies in a slot, with the strides the supervisor chose."""
    size = tuple(wire.size[: wire.ndim])
    dtype = DTYPES[wire.dtype]
    if wire.extent == 0:
        return torch.zeros(size, dtype=dtype)
    memory = (ctypes.c_char * wire.extent).from_address(base + wire.offset)
    flat = torch.frombuffer(memory, dtype=dtype)
    return flat.as_strided(size, tuple(wire.stride[: wire.ndim]))


def as_bits(tensor: torch.Tensor) -> torch.Tensor:
    """The same memory as integers: copying NaNs as floats could change them."""
    return tensor.view(torch.int32 if tensor.element_size() == 4 else torch.int64)


def poison(tensor: torch.Tensor) -> torch.Tensor:
    """Fill what torch.empty gave with NaNs that say so."""
    if tensor.dtype in (torch.float32, torch.float64) and tensor.numel():
        as_bits(tensor).fill_(POISON[tensor.dtype])
    return tensor


def poison_empty() -> None:
    """Make torch.empty and its kin hand out poison; older spellings still do not."""

    def wrapped(function: Any) -> Any:
        return lambda *args, **kwargs: poison(function(*args, **kwargs))

    for name in ("empty", "empty_like", "empty_strided"):
        setattr(torch, name, wrapped(getattr(torch, name)))
    for name in ("new_empty", "new_empty_strided"):
        setattr(torch.Tensor, name, wrapped(getattr(torch.Tensor, name)))


def give(result: Any, wire: WireTensor, base: int, name: str) -> None:
    """Copy a result into its slot, or say how it departs from the contract."""
    size, dtype = tuple(wire.size[: wire.ndim]), DTYPES[wire.dtype]
    if not isinstance(result, torch.Tensor):
        kind = type(result).__name__
        raise ContractError(f"{name} is a {kind}, expected a torch.Tensor")
    if tuple(result.shape) != size:
        raise ContractError(f"{name} has shape {tuple(result.shape)}, expected {size}")
    if result.dtype != dtype:
        raise ContractError(f"{name} is {result.dtype}, expected {dtype}")
    if result.device.type != "cpu" or result.layout != torch.strided:
        raise ContractError(f"{name} must be a dense tensor on the CPU")
    if wire.extent == 0:
        return
    source, target = as_bits(result.detach().contiguous()), as_bits(view(wire, base))
    written = source != POISON[dtype]
    target.copy_(torch.where(written, source, target))  # unwritten stays unwritten
