# SPDX-License-Identifier: MIT
"""Defines the structures of protocol.h and core.h for ctypes, field by field."""

from __future__ import annotations

import ctypes

SECOND = 1_000_000_000  # nanoseconds
MAX_DIMS = 6
SIDE_TENSORS = 8
PRESENT, FILLED = 1, 2  # what a request says of a tensor: SIDE_ in core.h
MAX_TENSORS = 2 * SIDE_TENSORS
SLOT_BYTES = (64 << 20) + (64 << 10)
OPTIONS_BYTES = 256
MESSAGE_BYTES = 1024
MAX_FRAMES = 32
REPORT_BYTES = 48 << 10

PHASE_READY, PHASE_LOADING, PHASE_LOADED, PHASE_IN_CALL = 1, 2, 3, 4
PHASE_RETURNED, PHASE_FAULT = 5, 6

STATUS_OK, STATUS_NOT_IMPLEMENTED, STATUS_INVALID_ARGUMENT = 0, 1, 2
STATUS_NO_MEMORY, STATUS_CUDA_ERROR, STATUS_UNSUPPORTED = 3, 4, 5
REPLY_CONTRACT, REPLY_EXCEPTION, REPLY_EXIT, REPLY_FORBIDDEN = 16, 17, 18, 19
REPLY_LOAD_ERROR, REPLY_CHECK, REPLY_SCRATCH, REPLY_STATUS = 20, 21, 22, 23
REPLY_DEVICE, REPLY_WROTE_INPUT, REPLY_GUARD, REPLY_CROWD = 24, 25, 26, 27

TAG_OUTSIDE, TAG_UNWRITTEN, TAG_SCRATCH, TAG_LOCAL = 0x1000, 0x2000, 0x3000, 0x4000

# DTYPE_ of tensor.h, in its order, by torch's names
DTYPES = ("float16", "bfloat16", "float32", "float64", "int32", "int64")


class Side(ctypes.Structure):
    """side_t: one tensor of a request, and what was found in it."""

    _fields_ = (
        ("present", ctypes.c_int32),
        ("dtype", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("taint", ctypes.c_int32),
        ("size", ctypes.c_int64 * MAX_DIMS),
        ("stride", ctypes.c_int64 * MAX_DIMS),
        ("host", ctypes.c_void_p),
        ("unwritten", ctypes.c_int64),
        ("first_unwritten", ctypes.c_int64),
        ("tainted", ctypes.c_int64),
        ("first_tainted", ctypes.c_int64),
        ("fence", ctypes.c_int64),
    )


class Request(ctypes.Structure):
    """request_t: one case."""

    _fields_ = (
        ("op", ctypes.c_int32),
        ("run", ctypes.c_int32),
        ("calls", ctypes.c_int32),
        ("threads", ctypes.c_int32),
        ("placement", ctypes.c_int32),
        ("freeze", ctypes.c_int32),
        ("deadline_ns", ctypes.c_int64),
        ("options", ctypes.c_ubyte * OPTIONS_BYTES),
        ("side", Side * MAX_TENSORS),
        ("outcome", ctypes.c_int32),
        ("late", ctypes.c_int32),
        ("wall_ns", ctypes.c_int64),
        ("lost_ns", ctypes.c_int64),
        ("own_ns", ctypes.c_int64),
    )


class Reply(ctypes.Structure):
    """reply_t: the worker's hints."""

    _fields_ = (
        ("phase", ctypes.c_int32),
        ("status", ctypes.c_int32),
        ("signo", ctypes.c_int32),
        ("given", ctypes.c_int32),
        ("frames", ctypes.c_int32),
        ("fault_write", ctypes.c_int32),
        ("direction", ctypes.c_int32),
        ("asked", ctypes.c_int32),
        ("fault_address", ctypes.c_uint64),
        ("module_base", ctypes.c_uint64),
        ("bytes_asked", ctypes.c_uint64),
        ("frame", ctypes.c_uint64 * MAX_FRAMES),
        ("in_base", ctypes.c_uint64 * SIDE_TENSORS),
        ("out_base", ctypes.c_uint64 * MAX_TENSORS),
        ("message", ctypes.c_char * MESSAGE_BYTES),
        ("notes", ctypes.c_char * (2 * MESSAGE_BYTES)),
        ("report_cut", ctypes.c_int32),
        ("left", ctypes.c_int32),
        ("report", ctypes.c_char * REPORT_BYTES),
        ("device_ns", ctypes.c_int64),
        ("device_calls", ctypes.c_int64),
    )


class WireTensor(ctypes.Structure):
    """wire_tensor_t: where one tensor lies."""

    _fields_ = (
        ("slot", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("dtype", ctypes.c_int32),
        ("bank", ctypes.c_int32),
        ("size", ctypes.c_int64 * MAX_DIMS),
        ("stride", ctypes.c_int64 * MAX_DIMS),
        ("offset", ctypes.c_int64),
        ("extent", ctypes.c_int64),
        ("call_step", ctypes.c_int64),
    )


class Command(ctypes.Structure):
    """command_t: what the worker reads."""

    _fields_ = (
        ("magic", ctypes.c_uint32),
        ("version", ctypes.c_uint32),
        ("go", ctypes.c_uint64),
        ("op", ctypes.c_int32),
        ("run", ctypes.c_int32),
        ("calls", ctypes.c_int32),
        ("threads", ctypes.c_int32),
        ("bytes", ctypes.c_int64),
        ("tensor", WireTensor * MAX_TENSORS),
        ("options", ctypes.c_ubyte * OPTIONS_BYTES),
    )
