# SPDX-License-Identifier: MIT
"""Calls the functions of common/tensor_view.h with PyTorch's tensors.

    views = convlab.load("02_naive_c/tensor_view")
    views.slice(x, 1, 0, 4, 2)  # a view of x, made by the C file

C gets a tensor_t for the tensor and fills in another one. That one comes back as a
tensor over the same memory. Nothing is copied.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import torch
from signatures.view_names import PREFIX, VIEWS

from convlab._load_error import LoadError
from convlab._native import build_rung, function_in
from grader.checks.views.dlpack import MAX_DIMS, DLTensor, lent_by
from grader.checks.views.placing import DTYPES
from grader.course.rungs import Rung, Task
from grader.runner.supervisor import wire

_Axes = ctypes.c_int64 * MAX_DIMS


class _Tensor(ctypes.Structure):
    """tensor_t."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("ndim", ctypes.c_int32),
        ("dtype", ctypes.c_int32),
        ("device", ctypes.c_int32),
        ("size", _Axes),
        ("stride", _Axes),
    )


class _Storage(ctypes.Structure):
    """storage_t."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("bytes", ctypes.c_int64),
        ("device", ctypes.c_int32),
    )


class _Layout(ctypes.Structure):
    """layout_t."""

    _fields_ = (
        ("offset", ctypes.c_int64),
        ("ndim", ctypes.c_int32),
        ("size", _Axes),
        ("stride", _Axes),
    )


class _Shape(ctypes.Structure):
    """shape_t."""

    _fields_ = (("ndim", ctypes.c_int32), ("size", _Axes))


class _Slice(ctypes.Structure):
    """slice_params_t."""

    _fields_ = tuple((name, ctypes.c_int64) for name in ("start", "end", "step"))


class Views:
    """The views that the files of a ladder make. `files`: function -> its file."""

    def __init__(self, id: str, code: dict[str, int], files: dict[str, str]) -> None:
        self.id, self.files, self._code = id, files, code

    def __repr__(self) -> str:
        lines = (f"  {name:<11}  {self.files.get(name, '-')}" for name in VIEWS)
        return "\n".join([self.id, *lines])

    def as_strided(
        self, tensor: Any, size: Sequence[int], stride: Sequence[int], offset: int = 0
    ) -> Any:
        """A tensor of this size and stride over the storage of another one."""
        whole = tensor.untyped_storage()
        storage = _Storage(whole.data_ptr(), whole.nbytes(), 0)
        asked = _Layout(offset, len(size), _Axes(*size), _Axes(*stride))
        dtype = DTYPES.index(tensor.dtype)
        return self._view("as_strided", tensor, ctypes.byref(storage), dtype, asked)

    def transpose(self, tensor: Any, dim0: int, dim1: int) -> Any:
        """Two axes exchanged."""
        axes = ctypes.c_int64(dim0), ctypes.c_int64(dim1)
        return self._view("transpose", tensor, _given(tensor), *axes)

    def slice(self, tensor: Any, dim: int, start: int, end: int, step: int = 1) -> Any:
        """Every step-th index of an axis from start to end."""
        asked = ctypes.c_int64(dim), _Slice(start, end, step)
        return self._view("slice", tensor, _given(tensor), *asked)

    def expand(self, tensor: Any, size: Sequence[int]) -> Any:
        """Axes of size 1 stretched."""
        asked = _Shape(len(size), _Axes(*size))
        return self._view("expand", tensor, _given(tensor), asked)

    def reshape(self, tensor: Any, size: Sequence[int]) -> Any:
        """The same elements counted otherwise, where that takes no copy."""
        asked = _Shape(len(size), _Axes(*size))
        return self._view("reshape", tensor, _given(tensor), asked)

    def to_dlpack(self, tensor: Any) -> dict[str, Any]:
        """The fields of the struct that the C file lends a tensor by."""
        made, given = DLTensor(), _tensor(tensor)
        self._call("to_dlpack", ctypes.byref(given), ctypes.byref(made))
        found = {name: getattr(made, name) for name, _ in DLTensor._fields_}
        axes = {name: found[name][: made.ndim] for name in ("shape", "strides")}
        return {**found, **axes}

    def from_dlpack(self, tensor: Any) -> Any:
        """A tensor that PyTorch lends by DLPack, as the C file borrows it."""
        capsule, lent = lent_by(tensor.detach())
        made = self._view("from_dlpack", tensor, ctypes.byref(lent))
        del capsule  # until here it kept the lent struct alive
        return made

    def _view(self, name: str, tensor: Any, *arguments: Any) -> Any:
        """What a function makes of a tensor, as a tensor over the same memory."""
        made = _Tensor()
        self._call(name, *arguments, ctypes.byref(made))
        axes = range(made.ndim)
        size, stride = ([of[d] for d in axes] for of in (made.size, made.stride))
        first = (made.data or 0) - tensor.untyped_storage().data_ptr()
        offset = first // tensor.element_size() if tensor.numel() else 0
        return tensor.as_strided(size, stride, offset)

    def _call(self, name: str, *arguments: Any) -> None:
        if name not in self._code:
            raise LoadError(f"{self.id}: no file defines {PREFIX}{name}")
        function: Callable[..., int] = ctypes.CFUNCTYPE(ctypes.c_int)(self._code[name])
        status = function(*arguments)
        if status == wire.STATUS_NOT_IMPLEMENTED:
            raise NotImplementedError(self.files[name])
        if status != wire.STATUS_OK:
            raise ValueError(f"{PREFIX}{name} refuses this")


def _tensor(tensor: torch.Tensor) -> _Tensor:
    size, stride = tensor.shape, tensor.stride()
    dtype = DTYPES.index(tensor.dtype)
    axes = _Axes(*size), _Axes(*stride)
    return _Tensor(tensor.data_ptr(), len(size), dtype, 0, *axes)


def _given(tensor: torch.Tensor) -> Any:
    return ctypes.byref(_tensor(tensor))


def load_views(task: Task, rung: Rung | None) -> Views:
    """All functions of a ladder, or those that one file defines."""
    code, files = {}, {}
    for one in [rung] if rung else task.rungs:
        built = build_rung(one)
        for name in built.directions:
            code[name] = function_in(built.libraries["f32"], f"{PREFIX}{name}")
            files[name] = one.shown
    return Views(rung.id if rung else task.id, code, files)
