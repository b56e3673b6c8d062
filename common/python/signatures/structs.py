# SPDX-License-Identifier: MIT
"""Defines the structs of common/*.h for ctypes, to call a rung from Python."""

from __future__ import annotations

import ctypes

from signatures import Signature

MAX_DIMS = 6  # TENSOR_MAX_DIMS


class TensorC(ctypes.Structure):
    """tensor_t: sizes and strides in elements; `data` is the caller's."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("ndim", ctypes.c_int32),
        ("dtype", ctypes.c_int),
        ("device", ctypes.c_int),
        ("size", ctypes.c_int64 * MAX_DIMS),
        ("stride", ctypes.c_int64 * MAX_DIMS),
    )


SCRATCH = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


class ContextC(ctypes.Structure):
    """ctx_t: `scratch(ctx, bytes)` gives memory until the operator returns."""

    _fields_ = (
        ("threads", ctypes.c_int32),
        ("stream", ctypes.c_void_p),
        ("device", ctypes.c_int),
        ("scratch", SCRATCH),
        ("scratch_state", ctypes.c_void_p),
        ("error", ctypes.c_char * 384),
        ("left", ctypes.c_int32),
    )


def options_struct(signature: Signature) -> type[ctypes.Structure] | None:
    """The operator's options struct, handed over by value; None without options."""
    fields = [
        (field, ctypes.c_double if option.kind == "float" else ctypes.c_int64)
        for option in signature.options
        for field in option.fields
    ]
    if not fields:
        return None
    return type("OptionsC", (ctypes.Structure,), {"_fields_": fields})
