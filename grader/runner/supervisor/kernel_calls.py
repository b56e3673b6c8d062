# SPDX-License-Identifier: MIT
"""Decodes the calls of kernels in lab 05's gates, in the form that wrappers.h sends.

The process that sends them has loaded a student's code. So a call in another form is
Malformed.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass

from grader.runner.supervisor.gate_events import Malformed

BYTES = (2, 2, 4, 8, 4, 8)  # of an element, by dtype_t
REALS = {2: "float32", 3: "float64"}  # torch's names of those that are marked
RESULT = "="  # the name of a call that sends a gate's result, its only output
MOST = 1 << 24  # bytes of a call
ONE = "one call of a kernel, or one result, has"
_HEAD = struct.Struct("<32sii")
_WORDS = struct.Struct("<9q")
_TENSORS = 16


class TooLarge(Exception):
    """More bytes than the grader takes; the text says how many those are."""

    def __init__(self, what: str, most: int) -> None:
        super().__init__(f"{what} more than {most >> 20} MiB of tensors")


@dataclass(frozen=True)
class Sent:
    """A tensor: row-major elements."""

    dtype: int  # dtype_t
    sizes: tuple[int, ...]
    data: bytes


@dataclass(frozen=True)
class KernelCall:
    """A call that has returned; None where a tensor is absent."""

    name: str  # gelu_forward
    inputs: tuple[Sent | None, ...]
    outputs: tuple[Sent | None, ...]


class Incoming:
    """What has come through the socket and is no whole call yet."""

    def __init__(self) -> None:
        self._data = b""

    def add(self, data: bytes) -> KernelCall | None:
        """The call that these bytes complete: the next one comes after its answer.

        Raises Malformed and TooLarge.
        """
        self._data += data
        if len(self._data) > MOST:
            raise TooLarge(ONE, MOST)
        try:
            call, used = _call(self._data)
        except _Short:
            return None
        if used != len(self._data):
            raise Malformed("a call of a kernel did not wait for its answer")
        self._data = b""
        return call


class _Short(Exception):
    """There is more to come."""


def _call(data: bytes) -> tuple[KernelCall, int]:
    """A call, and its bytes."""
    name, inputs, outputs = _HEAD.unpack(_part(data, 0, _HEAD.size))
    if not (0 <= inputs <= _TENSORS and 0 <= outputs <= _TENSORS):
        raise Malformed("a call of a kernel has too many tensors")
    at, tensors = _HEAD.size, list[Sent | None]()
    for _ in range(inputs + outputs):
        tensor, at = _tensor(data, at)
        tensors.append(tensor)
    word = name.rstrip(b"\0").decode("ascii", errors="replace")
    return KernelCall(word, tuple(tensors[:inputs]), tuple(tensors[inputs:])), at


def _tensor(data: bytes, at: int) -> tuple[Sent | None, int]:
    """A tensor, and where the next one begins."""
    words = _WORDS.unpack(_part(data, at, _WORDS.size))
    present, dtype, ndim, *sizes = words
    at += _WORDS.size
    if not present:
        return None, at
    if not 0 <= dtype < len(BYTES) or not 0 <= ndim <= len(sizes):
        raise Malformed(
            "a call of a kernel has a tensor with an unknown dtype or too many axes"
        )
    shape = tuple(sizes[:ndim])
    if any(size < 0 for size in shape):
        raise Malformed("a call of a kernel has a tensor with a negative size")
    count = math.prod(shape) * BYTES[dtype]
    if count > MOST:
        raise TooLarge(ONE, MOST)
    return Sent(dtype, shape, _part(data, at, count)), at + count


def _part(data: bytes, at: int, count: int) -> bytes:
    if len(data) < at + count:
        raise _Short
    return data[at : at + count]
