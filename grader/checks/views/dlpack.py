# SPDX-License-Identifier: MIT
"""Reads and writes DLPack's structs, to exchange tensors with PyTorch.

Capsules are made and read by hand. So a test can hand PyTorch tensors that no library
would make.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import dlpack

from grader.checks.views import placing
from grader.checks.views.placing import CUDA, Layout
from grader.checks.views.questions import LONGEST, Numbers, Question, padded

MAX_DIMS = 6  # TENSOR_MAX_DIMS
OF_CPU, OF_CUDA = 1, 2  # DLDevice.device_type
NAME = b"dltensor"  # of a capsule that nobody has taken yet


class DLTensor(ctypes.Structure):
    """DLTensor of tensor_view.h, its small structs field by field."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Managed(ctypes.Structure):
    """DLManagedTensor: a DLTensor, and how it is given back."""

    _fields_ = (
        ("tensor", DLTensor),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    )


def _api(name: str, result: Any, *arguments: Any) -> Any:
    function = getattr(ctypes.pythonapi, name)
    function.restype, function.argtypes = result, arguments
    return function


_pointer = _api(
    "PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p
)
_new_capsule = _api(
    "PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
)


def lent_by(tensor: torch.Tensor) -> tuple[object, DLTensor]:
    """The struct by which PyTorch lends a tensor, and the capsule that keeps it."""
    capsule = tensor.__dlpack__()
    return capsule, _Managed.from_address(_pointer(capsule, NAME)).tensor


@dataclass(frozen=True)
class Lending(Question):
    """to_dlpack: the struct that is filled, without the arrays."""

    def lent(self) -> dict[str, int]:
        """What PyTorch puts into it."""
        tensor = self.given.tensor(self.storage - self.given.reach)
        _capsule, made = lent_by(tensor)
        names = ("device_type", "device_id", "ndim", "code", "bits", "lanes")
        found = {name: int(getattr(made, name)) for name in names}
        if self.given.device == CUDA:
            found["device_type"] = OF_CUDA
        found["byte_offset"] = made.byte_offset
        return found


@dataclass(frozen=True)
class Borrowing(Question):
    """from_dlpack: a struct with these fields. `given` says where its elements lie, the
    arguments what may not fit to that: dtype, device, left out strides.
    """

    code: int = 2
    bits: int = 32
    lanes: int = 1
    device_type: int = OF_CPU
    byte_offset: int = 0
    dense: bool = False  # strides are NULL

    @property
    def sent(self) -> tuple[Numbers, Numbers]:
        """The arrays that the worker is given."""
        given = self.given
        head = [given.start - self.byte_offset, self.device_type, 0, len(given.size)]
        head += [self.code, self.bits, self.lanes, self.byte_offset, self.dense]
        return [*head, *padded(given.size), *padded(given.stride)], [0]

    def __str__(self) -> str:
        """from_dlpack of ..."""
        strides = "NULL" if self.dense else self.given.stride
        return (
            f"from_dlpack of shape {self.given.size}, strides {strides}, byte_offset "
            f"{self.byte_offset}, code {self.code}, bits {self.bits}, lanes "
            f"{self.lanes}, device_type {self.device_type}"
        )

    def view(self) -> Layout:
        """PyTorch's tensor. What is on a GPU is asked as if it were on the CPU, and
        what tensor.h has no word for is refused.
        """
        given = self.given
        if len(given.size) > MAX_DIMS:
            raise RuntimeError(f"a tensor_t has at most {MAX_DIMS} axes")
        if not self.dense and min(given.stride, default=0) < 0:
            raise RuntimeError("a tensor_t has no negative strides")
        memory = torch.empty(self.storage, dtype=torch.uint8)
        axes = ctypes.c_int64 * LONGEST
        made = _Managed()
        made.tensor.data = memory.data_ptr() + given.start
        made.tensor.ndim = len(given.size)
        on_card = self.device_type == OF_CUDA
        made.tensor.device_type = OF_CPU if on_card else self.device_type
        made.tensor.code, made.tensor.bits = self.code, self.bits
        made.tensor.lanes = self.lanes
        made.tensor.shape = axes(*given.size)
        if not self.dense:
            made.tensor.strides = axes(*given.stride)
        found = dlpack.from_dlpack(_new_capsule(ctypes.addressof(made), NAME, None))
        size, stride, dtype = tuple(found.shape), found.stride(), found.dtype
        start = found.data_ptr() - memory.data_ptr() if found.numel() else 0
        del found  # before what it borrows
        if dtype not in placing.DTYPES:
            raise RuntimeError(f"tensor.h has no dtype for {dtype}")
        device = CUDA if on_card else placing.CPU
        return Layout(size, stride, start, placing.DTYPES.index(dtype), device)
