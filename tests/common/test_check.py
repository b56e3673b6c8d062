# SPDX-License-Identifier: MIT
"""The argument checks (common/check.c): bad arguments get their sentence, good pass.

check.c is built and called by ctypes. Tensors get made-up addresses, so that a check
which touches data it should not read ends the test run; only coordinates are real.

The tables read as pairs: a call with what it changes against the operator's good call
in TENSORS, and the whole sentence that it gets. They make this file long.
"""

from __future__ import annotations

import ctypes
import math
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest
from signatures import SIGNATURES, Signature
from signatures.structs import SCRATCH, ContextC, TensorC, options_struct

from tests import ROOT

COMMON = ROOT / "common"
WARNINGS = ["-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror", "-O2"]
DTYPES = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8, "i32": 4, "i64": 8}  # bytes
DEVICES = ("cpu", "cuda")
OK, INVALID_ARGUMENT, NO_MEMORY = 0, 2, 3


@dataclass(frozen=True)
class Tensor:
    """A tensor_t to be: as many sizes as axes, contiguous if nothing else is said."""

    size: tuple[int, ...]
    stride: tuple[int, ...] | None = None
    dtype: str | int = "f32"  # a number is no dtype
    device: str | int = "cpu"  # a number is no device
    address: int | None = None  # None: somewhere apart from all others
    ndim: int | None = None
    values: tuple[int, ...] = ()  # of coordinates, i32

    def build(self, address: int) -> tuple[TensorC, object]:
        """The struct, and what must live as long as it."""
        stride, step = [], 1
        for size in reversed(self.size):
            stride.insert(0, step)
            step *= max(size, 1)
        memory = (ctypes.c_int32 * len(self.values))(*self.values)
        if self.values:
            address = ctypes.addressof(memory)
        tensor = TensorC(
            address if self.address is None else self.address,
            len(self.size) if self.ndim is None else self.ndim,
            self.dtype if isinstance(self.dtype, int) else [*DTYPES].index(self.dtype),
            self.device if isinstance(self.device, int) else DEVICES.index(self.device),
            self.size,
            tuple(stride) if self.stride is None else self.stride,
        )
        return tensor, memory


def t(*size: int, **fields) -> Tensor:
    """t(2, 3, dtype="f64") is a tensor of that size."""
    return Tensor(size, **fields)


# a good call of each operator; a gradient is like its tensor
TENSORS: dict[str, dict[str, Tensor]] = {
    "add": {"input": t(2, 3), "other": t(3), "output": t(2, 3)},
    "matmul": {"input": t(2, 3, 4), "other": t(2, 4, 5), "output": t(2, 3, 5)},
    "linear": {
        "input": t(2, 3, 4),
        "weight": t(5, 4),
        "bias": t(5),
        "output": t(2, 3, 5),
    },
    "unfold": {"input": t(2, 3, 6, 5), "output": t(2, 18, 12)},
    "conv2d": {
        "input": t(2, 6, 9, 8),
        "weight": t(4, 3, 3, 2),
        "bias": t(4),
        "output": t(2, 4, 5, 6),
    },
    "depthwise_conv2d": {
        "input": t(2, 3, 9, 8),
        "weight": t(6, 1, 3, 2),
        "bias": t(6),
        "output": t(2, 6, 5, 6),
    },
    "gelu": {"input": t(4, 3), "output": t(4, 3)},
    "layer_norm": {
        "input": t(2, 3, 4),
        "weight": t(4),
        "bias": t(4),
        "output": t(2, 3, 4),
        "mean": t(2, 3),
        "rstd": t(2, 3),
    },
    "lltm": {
        "input": t(2, 4),
        "weight": t(9, 7),
        "bias": t(9),
        "h": t(2, 3),
        "c": t(2, 3),
        "new_h": t(2, 3),
        "new_c": t(2, 3),
        "gates": t(2, 9),
    },
    "subm_conv3d": {
        "features": t(3, 4),
        "coordinates": t(
            3, 4, dtype="i32", values=(0, 4, 5, 1, 0, 4, 2, 7, 1, 4, 2, 7)
        ),
        "weight": t(5, 4, 3, 5, 1),
        "bias": t(5),
        "output": t(3, 5),
        "rulebook": t(15, 3, 2, dtype="i32"),
        "count": t(15, dtype="i64"),
    },
}
WINDOW = {"stride": (2, 1), "padding": (1, 0), "dilation": (1, 2)}
OPTIONS: dict[str, dict[str, object]] = {
    "unfold": {"kernel_size": (2, 3), "stride": (2, 1), "padding": (1, 0)},
    "conv2d": {**WINDOW, "groups": 2},
    "depthwise_conv2d": WINDOW,
}


def arguments(call: str) -> tuple[Signature, list[str]]:
    """The tensors of conv2d_backward and its like in C's order, "p" for the options."""
    name, direction = call.rsplit("_", 1)
    signature = SIGNATURES[name]
    inputs = [argument.name for argument in signature.inputs]
    outputs = [argument.name for argument in (*signature.outputs, *signature.saved)]
    if direction == "backward":
        inputs = [f"grad_{argument.name}" for argument in signature.outputs]
        inputs += signature.backward
        outputs = [f"grad_{name}" for name in signature.gradients]
    return signature, [*inputs, *(["p"] if signature.options else []), *outputs]


def pack(signature: Signature, changes: dict[str, object]) -> ctypes.Structure:
    """The options of the operator's good call, with fields changed."""
    given = OPTIONS.get(signature.name, {})
    values = {}
    for option in signature.options:
        value = option.values(given.get(option.name, option.default))
        values.update(zip(option.fields, value, strict=True))
    values.update((name, changes[name]) for name in values.keys() & changes.keys())
    struct = options_struct(signature)
    assert struct
    return struct(**values)


def ask(library: ctypes.CDLL, call: str, **changes) -> tuple[int, str]:
    """Status and sentence of the good call with arguments changed; None is NULL."""
    signature, names = arguments(call)
    good = dict(TENSORS[signature.name])
    good |= {f"grad_{name}": tensor for name, tensor in good.items()}
    room = (ctypes.c_char * 4096)()
    scratch = SCRATCH(lambda ctx, size: changes.get("room", ctypes.addressof(room)))
    context = ContextC(
        threads=changes.get("threads", 1),
        device=changes.get("device", 0),
        scratch=scratch,
        error=b"left over",
    )
    kept, values = [], []
    for i, name in enumerate(names):
        tensor = changes.get(name, good.get(name))
        if name == "p":
            values.append(pack(signature, changes))
        elif tensor is None:
            values.append(None)
        else:
            kept.append(tensor.build(address=(i + 1) << 16))
            values.append(ctypes.byref(kept[-1][0]))
    unknown = changes.keys() - set(names) - {"threads", "device", "room"}
    fields = {field for option in signature.options for field in option.fields}
    assert unknown <= fields, "the row changes what the call does not have"
    status = getattr(library, f"{call}_check")(ctypes.byref(context), *values)
    return status, context.error.decode()


@pytest.fixture(scope="session")
def library(tmp_path_factory) -> ctypes.CDLL:
    """check.c as a shared object."""
    path = tmp_path_factory.mktemp("check") / "check.so"
    command = ["gcc", "-std=c11", *WARNINGS, "-shared", "-fPIC", "-I", str(COMMON)]
    command += [str(COMMON / "check.c"), "-o", str(path)]
    subprocess.run(command, check=True, timeout=60)
    return ctypes.CDLL(str(path))


Call = tuple[str, dict[str, object], str]  # its changes, and words for it
CALLS = [f"{name}_{way}" for name in SIGNATURES for way in ("forward", "backward")]


@dataclass(frozen=True)
class Row:
    """A call of a check, and the sentence that belongs to it."""

    call: str
    changes: dict[str, object]  # against the operator's good call
    sentence: str


def rows(table: str) -> list[Row]:
    """The rows of a table: a call at the margin, its sentence below, further in."""
    found = []
    for text in re.split(r"\n(?=\S)", table.strip()):
        call, sentence = re.split(r"\n {4}(?=\S)", text, maxsplit=1)
        name, changes = call.split("(", 1)
        words = {"t": t, "every": every, "nan": math.nan}
        given = eval(f"dict({changes}", words)
        found.append(Row(name, given, " ".join(sentence.split())))
    return found


def every(operator: str, **fields) -> dict[str, Tensor]:
    """All tensors of the operator's good call, with fields replaced."""
    return {
        name: replace(tensor, **fields) for name, tensor in TENSORS[operator].items()
    }


# None is NULL
BAD = rows("""
gelu_forward(threads=0)
    gelu: ctx->threads is 0, expected at least 1
gelu_forward(device=7)
    gelu: ctx->device is 7, expected DEVICE_CPU (0) or DEVICE_CUDA (1)
gelu_forward(input=None)
    gelu: 'input' is NULL, but it is not optional
gelu_backward(grad_output=None)
    gelu: 'grad_output' is NULL, but it is not optional
gelu_forward(input=t(1, ndim=7))
    gelu: 'input' has 7 axes, expected 0 to 6
gelu_forward(input=t(1, ndim=-1))
    gelu: 'input' has -1 axes, expected 0 to 6
gelu_forward(input=t(4, 3, device='cuda'))
    gelu: 'input' is on cuda, the context on cpu, expected one device
gelu_forward(device=1, input=t(4, 3, device='cuda'))
    gelu: 'output' is on cpu, the context on cuda, expected one device
gelu_forward(input=t(4, 3, device=9))
    gelu: 'input' is on no known device, the context on cpu, expected one device
gelu_forward(input=t(4, 3, dtype='i32'))
    gelu: 'input' is i32, expected f16, bf16, f32 or f64
gelu_forward(input=t(4, 3, dtype=77))
    gelu: 'input' is of no known dtype, expected f16, bf16, f32 or f64
gelu_forward(output=t(4, 3, dtype='f64'))
    gelu: 'output' is f64, 'input' is f32, expected the same dtype
gelu_forward(input=t(4, -3))
    gelu: 'input' has size -3 along axis 1, expected at least 0
gelu_forward(input=t(4, 3, stride=(3, -1)))
    gelu: 'input' has stride -1 along axis 1, expected at least 0
gelu_forward(input=t(1 << 62, 1 << 62))
    gelu: 'input' is larger than any memory (were size and stride filled?)
gelu_forward(input=t(4, 3, stride=(1 << 62, 1)))
    gelu: 'input' is larger than any memory (were size and stride filled?)
gelu_forward(input=t(1 << 30, 1 << 30, stride=(0, 0)))
    gelu: 'input' is larger than any memory (were size and stride filled?)
gelu_forward(input=t(4, 3, address=0))
    gelu: 'input' (4, 3) has no data (NULL)
gelu_forward(input=t(4, 3, address=4098))
    gelu: 'input' is not aligned to its elements of 4 bytes
gelu_forward(input=t(4, 3, address=4100, dtype='f64'))
    gelu: 'input' is not aligned to its elements of 8 bytes
gelu_forward(output=t(4, 3, stride=(1, 4)))
    gelu: 'output' (4, 3) must be contiguous, its strides are (1, 4)
gelu_backward(grad_input=t(4, 3, stride=(0, 1)))
    gelu: 'grad_input' (4, 3) must be contiguous, its strides are (0, 1)
gelu_forward(input=t(4, 3, address=4096), output=t(4, 3, address=4096))
    gelu: 'output' overlaps 'input', expected its own memory
gelu_forward(input=t(4, 3, address=4096, stride=(100, 1)), output=t(4, 3, address=4096 +
        302 * 4))
    gelu: 'output' overlaps 'input', expected its own memory
matmul_backward(grad_input=t(2, 3, 4, address=4096), grad_other=t(2, 4, 5, address=4096
        - 160 + 4))
    matmul: 'grad_other' overlaps 'grad_input', expected its own memory
add_forward(other=t(4, 3))
    add: 'input' (2, 3) and 'other' (4, 3) cannot be broadcast: axis 0 is 2 and 4
add_forward(input=t(3), other=t(2, 4))
    add: 'input' (3) and 'other' (2, 4) cannot be broadcast: axis 1 is 3 and 4
add_forward(input=t(2, 0))
    add: 'input' (2, 0) and 'other' (3) cannot be broadcast: axis 1 is 0 and 3
add_forward(output=t(3))
    add: 'output' must be (2, 3) for these arguments, got (3)
add_forward(input=t(), other=t(), output=t(1))
    add: 'output' must be () for these arguments, got (1)
add_backward(grad_input=t(2, 4), grad_other=None)
    add: 'grad_input' (2, 4) and 'grad_output' (2, 3) cannot be broadcast: axis 1 is 4
    and 3
add_backward(grad_input=t(2, 1), grad_other=t(1))
    add: 'grad_output' must be (2, 1) for these arguments, got (2, 3)
add_backward(grad_input=None, grad_other=t(5, 1, 1))
    add: 'grad_output' must be (5, 2, 3) for these arguments, got (2, 3)
matmul_forward(input=t(4))
    matmul: 'input' must be (..., M, K), got (4)
matmul_backward(other=t(4))
    matmul: 'other' must be (..., K, N), got (4)
matmul_forward(other=t(2, 5, 4))
    matmul: 'input' (2, 3, 4) has 4 columns, 'other' (2, 5, 4) has 5 rows, expected the
    same number (is an operand transposed?)
matmul_forward(other=t(1, 4, 5))
    matmul: 'input' (2, 3, 4) and 'other' (1, 4, 5) differ in their batch axes, expected
    equal batch axes (expand the smaller operand)
matmul_backward(other=t(4, 5))
    matmul: 'input' (2, 3, 4) and 'other' (4, 5) differ in their batch axes, expected
    equal batch axes (expand the smaller operand)
matmul_forward(output=t(2, 5, 3))
    matmul: 'output' must be (2, 3, 5) for these arguments, got (2, 5, 3)
matmul_backward(grad_output=t(3, 5))
    matmul: 'grad_output' must be (2, 3, 5) for these arguments, got (3, 5)
linear_forward(input=t())
    linear: 'input' must be (..., IC), got ()
linear_forward(weight=t(5))
    linear: 'weight' must be (OC, IC), got (5)
linear_forward(weight=t(4, 5))
    linear: 'weight' expects 5 features, 'input' has 4 (is it transposed?)
linear_forward(bias=t(4))
    linear: 'bias' must be (5) for these arguments, got (4)
linear_forward(output=t(6, 5))
    linear: 'output' must be (2, 3, 5) for these arguments, got (6, 5)
linear_backward(grad_weight=t(4, 5))
    linear: 'grad_weight' must be (5, 4) for these arguments, got (4, 5)
linear_backward(grad_output=t(2, 3, 5, dtype='f64'))
    linear: 'grad_output' is f64, 'input' is f32, expected the same dtype
unfold_forward(stride_h=0)
    unfold: stride_h is 0, expected at least 1 (was the options struct filled?)
unfold_backward(kernel_w=0, grad_input=None)
    unfold: kernel_w is 0, expected at least 1 (was the options struct filled?)
unfold_forward(kernel_h=-2)
    unfold: kernel_h is -2, expected at least 1
unfold_forward(dilation_w=2_000_000)
    unfold: dilation_w is 2000000, expected at most 1048576
unfold_forward(input=t(3, 6, 5))
    unfold: 'input' must be (N, IC, IH, IW), got (3, 6, 5)
unfold_forward(input=t(2, 3, 0, 5))
    unfold: 'input' (2, 3, 0, 5) is empty along axis 2, expected at least 1
unfold_forward(dilation_w=3)
    unfold: kernel_w 3 with dilation_w 3 spans 7, 'input' has 5 with padding_w 0
unfold_forward(output=t(2, 18, 15))
    unfold: 'output' must be (2, 18, 12) for these arguments, got (2, 18, 15)
unfold_backward(grad_output=t(2, 18, 15))
    unfold: 'grad_output' must be (2, 18, 12) for these arguments, got (2, 18, 15)
unfold_backward(grad_input=t(3, 6, 5))
    unfold: 'grad_input' must be (N, IC, IH, IW), got (3, 6, 5)
conv2d_forward(weight=t(4, 4, 3, 2))
    conv2d: 'weight' expects 4 input channels per group, 'input' has 6 channels in 2
    groups (is groups wrong?)
conv2d_backward(groups=1)
    conv2d: 'weight' expects 3 input channels, 'input' has 6 (is groups wrong?)
conv2d_forward(groups=4)
    conv2d: groups is 4, which does not divide the 6 channels of 'input'
conv2d_forward(groups=3)
    conv2d: groups is 3, which does not divide the 4 filters of 'weight'
conv2d_forward(groups=0)
    conv2d: groups is 0, expected at least 1 (was the options struct filled?)
conv2d_backward(dilation_h=0)
    conv2d: dilation_h is 0, expected at least 1 (was the options struct filled?)
conv2d_forward(padding_w=-1)
    conv2d: padding_w is -1, expected at least 0
conv2d_forward(stride_w=-1)
    conv2d: stride_w is -1, expected at least 1
conv2d_forward(weight=t(4, 3, 3))
    conv2d: 'weight' must be (OC, IC/G, KH, KW), got (4, 3, 3)
conv2d_forward(input=t(2, 0, 9, 8))
    conv2d: 'input' (2, 0, 9, 8) is empty along axis 1, expected at least 1
conv2d_forward(weight=t(4, 3, 0, 2))
    conv2d: 'weight' (4, 3, 0, 2) is empty along axis 2, expected at least 1
conv2d_forward(weight=t(4, 3, 12, 2))
    conv2d: kernel_h 12 with dilation_h 1 spans 12, 'input' has 11 with padding_h 1
conv2d_forward(output=t(2, 4, 5, 7))
    conv2d: 'output' must be (2, 4, 5, 6) for these arguments, got (2, 4, 5, 7)
conv2d_forward(bias=t(1, 4))
    conv2d: 'bias' must be (4) for these arguments, got (1, 4)
conv2d_backward(grad_bias=t(6))
    conv2d: 'grad_bias' must be (4) for these arguments, got (6)
conv2d_backward(grad_output=t(2, 4, 6, 5))
    conv2d: 'grad_output' must be (2, 4, 5, 6) for these arguments, got (2, 4, 6, 5)
conv2d_backward(weight=t(4, 3, 3, 2, address=4096), grad_weight=t(4, 3, 3, 2,
        address=4096))
    conv2d: 'grad_weight' overlaps 'weight', expected its own memory
depthwise_conv2d_forward(weight=t(6, 3, 3, 2))
    depthwise_conv2d: 'weight' must be (OC, 1, KH, KW), got (6, 3, 3, 2)
depthwise_conv2d_forward(weight=t(5, 1, 3, 2))
    depthwise_conv2d: 'weight' has 5 filters, expected a multiple of the 3 channels of
    'input'
depthwise_conv2d_forward(input=t(2, 0, 9, 8))
    depthwise_conv2d: 'input' (2, 0, 9, 8) is empty along axis 1, expected at least 1
depthwise_conv2d_backward(stride_w=0)
    depthwise_conv2d: stride_w is 0, expected at least 1 (was the options struct
    filled?)
depthwise_conv2d_backward(grad_input=t(2, 6, 5, 6))
    depthwise_conv2d: 'grad_input' must be (2, 3, 9, 8) for these arguments, got (2, 6,
    5, 6)
depthwise_conv2d_forward(output=t(2, 3, 5, 6))
    depthwise_conv2d: 'output' must be (2, 6, 5, 6) for these arguments, got (2, 3, 5,
    6)
gelu_forward(approximate=0)
    gelu: approximate is 0, expected GELU_NONE (1) or GELU_TANH (2)
gelu_backward(approximate=3)
    gelu: approximate is 3, expected GELU_NONE (1) or GELU_TANH (2)
gelu_backward(grad_output=t(3, 4))
    gelu: 'grad_output' must be (4, 3) for these arguments, got (3, 4)
layer_norm_forward(eps=0.0)
    layer_norm: eps is 0, expected more than 0 (was the options struct filled?)
layer_norm_forward(eps=-0.5)
    layer_norm: eps is -0.5, expected more than 0
layer_norm_backward(eps=nan)
    layer_norm: eps is nan, expected more than 0
layer_norm_forward(input=t(2, 0))
    layer_norm: 'input' (2, 0) has no features, expected D at least 1
layer_norm_forward(input=t())
    layer_norm: 'input' must be (..., D), got ()
layer_norm_forward(weight=t(3, 4))
    layer_norm: 'weight' must be (4) for these arguments, got (3, 4)
layer_norm_forward(mean=t(2, 3, 1))
    layer_norm: 'mean' must be (2, 3) for these arguments, got (2, 3, 1)
layer_norm_forward(rstd=t(2, 3, dtype='f64'))
    layer_norm: 'rstd' is f64, expected f32
layer_norm_backward(input=t(2, 3, 4, dtype='f64'), grad_output=t(2, 3, 4, dtype='f64'),
        weight=None)
    layer_norm: 'mean' is f32, expected f64
layer_norm_backward(rstd=None)
    layer_norm: 'rstd' is NULL, but it is not optional
layer_norm_backward(grad_bias=t(3))
    layer_norm: 'grad_bias' must be (4) for these arguments, got (3)
lltm_forward(h=t(4, 3))
    lltm: 'h' must be (2, 3) for these arguments, got (4, 3)
lltm_forward(weight=t(12, 7))
    lltm: 'weight' must be (9, 7) for these arguments, got (12, 7)
lltm_forward(bias=None)
    lltm: 'bias' is NULL, but it is not optional
lltm_forward(c=t(2, 4))
    lltm: 'c' must be (2, 3) for these arguments, got (2, 4)
lltm_forward(gates=t(2, 12))
    lltm: 'gates' must be (2, 9) for these arguments, got (2, 12)
lltm_forward(c=t(2, 3, address=4096), new_c=t(2, 3, address=4096))
    lltm: 'new_c' overlaps 'c', expected its own memory
lltm_backward(gates=None)
    lltm: 'gates' is NULL, but it is not optional
lltm_backward(grad_new_c=t(3, 2))
    lltm: 'grad_new_c' must be (2, 3) for these arguments, got (3, 2)
lltm_backward(grad_c=t(2, 9))
    lltm: 'grad_c' must be (2, 3) for these arguments, got (2, 9)
subm_conv3d_forward(weight=t(5, 6, 3, 5, 1))
    subm_conv3d: 'weight' expects 6 input channels, 'features' has 4
subm_conv3d_forward(weight=t(5, 4, 3, 5))
    subm_conv3d: 'weight' must be (OC, IC, KD, KH, KW), got (5, 4, 3, 5)
subm_conv3d_backward(weight=t(5, 4, 3, 5, 2))
    subm_conv3d: 'weight' has a kernel of 3 x 5 x 2, expected odd sizes
subm_conv3d_forward(weight=t(5, 4, 4, 5, 1))
    subm_conv3d: 'weight' has a kernel of 4 x 5 x 1, expected odd sizes
subm_conv3d_forward(weight=t(5, 4, 3, 0, 1))
    subm_conv3d: 'weight' has a kernel of 3 x 0 x 1, expected odd sizes
subm_conv3d_forward(dilation_d=0)
    subm_conv3d: dilation_d is 0, expected at least 1 (was the options struct filled?)
subm_conv3d_backward(dilation_h=-1)
    subm_conv3d: dilation_h is -1, expected at least 1
subm_conv3d_forward(dilation_w=0)
    subm_conv3d: dilation_w is 0, expected at least 1 (was the options struct filled?)
subm_conv3d_forward(coordinates=t(3, 3, dtype='i32'))
    subm_conv3d: 'coordinates' must be (3, 4) for these arguments, got (3, 3)
subm_conv3d_forward(coordinates=t(3, 4, dtype='i64'))
    subm_conv3d: 'coordinates' is i64, expected i32
subm_conv3d_forward(coordinates=t(3, 4, dtype='i32', values=(1, 3, -2, 7, 0, 3, -2, 7,
        1, 3, -2, 7)))
    subm_conv3d: 'coordinates' has (1, 3, -2, 7) twice, in rows 0 and 2
subm_conv3d_forward(coordinates=t(3, 4, dtype='i32', stride=(0, 0), values=(4,)))
    subm_conv3d: 'coordinates' has (4, 4, 4, 4) twice, in rows 0 and 1
subm_conv3d_forward(count=None)
    subm_conv3d: 'count' is NULL and 'rulebook' is not, expected both or neither
subm_conv3d_forward(rulebook=None)
    subm_conv3d: 'rulebook' is NULL and 'count' is not, expected both or neither
subm_conv3d_forward(rulebook=t(2, 15, 3, dtype='i32'))
    subm_conv3d: 'rulebook' must be (15, 3, 2) for these arguments, got (2, 15, 3)
subm_conv3d_forward(count=t(15, dtype='i32'))
    subm_conv3d: 'count' is i32, expected i64
subm_conv3d_backward(count=t(3, dtype='i64'))
    subm_conv3d: 'count' must be (15) for these arguments, got (3)
subm_conv3d_backward(rulebook=None)
    subm_conv3d: 'rulebook' is NULL, but it is not optional
subm_conv3d_backward(grad_features=t(3, 5))
    subm_conv3d: 'grad_features' must be (3, 4) for these arguments, got (3, 5)
""")

# the sentence says what is shown
GOOD = rows("""
add_forward(input=t(), other=t(), output=t())
    add takes operands without axes
add_forward(input=t(2, 1, 4), other=t(3, 1), output=t(2, 3, 4))
    add stretches both operands
add_forward(input=t(0, 3), other=t(1, 3), output=t(0, 3))
    add stretches a size of 1 to none
add_forward(input=t(2, 3, stride=(0, 1)), other=t(3, stride=(0,)))
    add takes broadcast strides
add_forward(alpha=0.0)
    add takes alpha 0
add_backward(grad_input=t(2, 3), grad_other=t())
    add sums a gradient to no axes
add_backward(grad_input=t(1), grad_other=None)
    add's unwanted operand may have been the large one
matmul_forward(other=t(2, 4, 5, stride=(20, 1, 4)))
    matmul takes a transposed operand
matmul_backward(other=t(2, 4, 5, stride=(0, 5, 1)), grad_output=t(2, 3, 5))
    matmul takes an operand expanded over the batch
matmul_forward(input=t(3, 0), other=t(0, 5), output=t(3, 5))
    matmul sums over nothing
matmul_forward(input=t(3, 3, address=4096), other=t(3, 3, address=4096, stride=(1, 3)),
        output=t(3, 3))
    matmul takes its operand twice
linear_forward(input=t(4), output=t(5))
    linear takes one row without leading axes
linear_backward(input=t(0, 4), grad_output=t(0, 5), grad_input=t(0, 4))
    linear takes no rows
linear_forward(weight=t(5, 4, stride=(1, 5)))
    linear takes a transposed weight
linear_forward(**every('linear', dtype='bf16'))
    linear takes half precision
unfold_forward(input=t(0, 3, 6, 5), output=t(0, 18, 12))
    unfold takes an empty batch
conv2d_forward(input=t(0, 6, 9, 8, address=0), output=t(0, 4, 5, 6, address=0))
    conv2d takes an empty batch without data
conv2d_forward(input=t(2, 6, 9, 8, stride=(432, 1, 48, 6)))
    conv2d takes channels last
conv2d_backward(grad_output=t(2, 4, 5, 6, stride=(0, 0, 0, 0)))
    conv2d takes a broadcast grad_output
conv2d_forward(weight=t(4, 3, 11, 2), output=t(2, 4, 1, 6))
    conv2d takes a kernel as large as the padded input
depthwise_conv2d_forward(input=t(0, 3, 9, 8), output=t(0, 6, 5, 6))
    depthwise_conv2d takes an empty batch
depthwise_conv2d_forward(weight=t(3, 1, 3, 2), bias=None, output=t(2, 3, 5, 6))
    depthwise_conv2d takes one filter a channel
gelu_forward(input=t(), output=t())
    gelu takes a tensor without axes
gelu_forward(input=t(1, 2, 1, 2, 1, 2), output=t(1, 2, 1, 2, 1, 2))
    gelu takes six axes
gelu_backward(approximate=2)
    gelu takes the tanh form
gelu_forward(device=1, input=t(4, 3, device='cuda'), output=t(4, 3, device='cuda'))
    gelu takes tensors on a GPU
gelu_forward(input=t(4, 3, address=4096), output=t(4, 3, address=4096 + 48))
    an output may begin where an input ends
gelu_forward(input=t(1, 3), output=t(1, 3, stride=(99, 1)))
    strides of a size of 1 have no say
layer_norm_forward(input=t(4), output=t(4), mean=t(), rstd=t())
    layer_norm takes a single row
layer_norm_forward(input=t(2, 3, 4, dtype='f16'), output=t(2, 3, 4, dtype='f16'),
        weight=None, bias=None)
    layer_norm keeps statistics of half precision in single
layer_norm_forward(input=t(0, 4), output=t(0, 4), mean=t(0), rstd=t(0))
    layer_norm takes no rows
lltm_forward(h=t(0, 3), c=t(0, 3), new_h=t(0, 3), new_c=t(0, 3), input=t(0, 4),
        gates=t(0, 9))
    lltm takes an empty batch
subm_conv3d_forward(features=t(0, 4), coordinates=t(0, 4, dtype='i32'), output=t(0, 5),
        rulebook=t(15, 0, 2, dtype='i32'))
    subm_conv3d takes no points
subm_conv3d_forward(rulebook=None, count=None)
    subm_conv3d takes neither rulebook nor count
subm_conv3d_forward(coordinates=t(3, 4, dtype='i32', stride=(1, 3), values=(0, 0, 1, 5,
        5, 5, 7, 7, 7, 1, 2, 1)))
    subm_conv3d takes coordinates with strides
subm_conv3d_forward(**every('subm_conv3d', device='cuda'), device=1, room=None)
    subm_conv3d does not read coordinates on a GPU
""")


def test_every_check_has_bad_rows():
    assert {row.call for row in BAD} == set(CALLS)


def unwanted() -> Iterator[Call]:
    """Each backward without one of its gradients, and without all of them."""
    for name, signature in SIGNATURES.items():
        gradients = {f"grad_{wanted}": None for wanted in signature.gradients}
        for changes in (gradients, *({gradient: None} for gradient in gradients)):
            yield f"{name}_backward", changes, f"{name} without {', '.join(changes)}"


def optional_tensors() -> Iterator[Call]:
    """Each call without each tensor that may be NULL in it."""
    for name, signature in SIGNATURES.items():
        inputs = [tensor.name for tensor in signature.inputs if tensor.optional]
        saved = [tensor.name for tensor in signature.saved if tensor.optional]
        if name == "subm_conv3d":  # its two come and go together
            saved = []
        handed = sorted(set(signature.backward) & set(inputs))
        for way, tensors in (("forward", inputs + saved), ("backward", handed)):
            for tensor in tensors:
                yield f"{name}_{way}", {tensor: None}, f"{name}_{way} without {tensor}"


def required_tensors() -> Iterator[Row]:
    """Each call without each tensor that may not be NULL in it."""
    for call in CALLS:
        signature, names = arguments(call)
        every = (*signature.inputs, *signature.outputs, *signature.saved)
        optional = {tensor.name for tensor in every if tensor.optional}
        if call.endswith("backward"):
            saved = {tensor.name for tensor in signature.saved}
            optional -= saved  # made by forward, needed by backward
            optional |= {f"grad_{gradient}" for gradient in signature.gradients}
        for name in names:
            if name not in optional | {"p"}:
                said = f"{signature.name}: '{name}' is NULL, but it is not optional"
                yield Row(call, {name: None}, said)


NO_ROOM = "subm_conv3d: no scratch memory to compare the 3 rows of 'coordinates'"


@pytest.mark.parametrize(
    ("row", "status"),
    [
        *((row, INVALID_ARGUMENT) for row in (*BAD, *required_tensors())),
        (Row("subm_conv3d_forward", {"room": None}, NO_ROOM), NO_MEMORY),
    ],
    ids=lambda value: f"{value.call}: {value.sentence}" if type(value) is Row else "",
)
def test_a_bad_argument_gets_its_sentence(library, row, status):
    assert ask(library, row.call, **row.changes) == (status, row.sentence)


PASSING = [
    *((call, {}, call) for call in CALLS),
    *((row.call, row.changes, row.sentence) for row in GOOD),
    *unwanted(),
    *optional_tensors(),
]


@pytest.mark.parametrize(
    ("call", "changes"),
    [pytest.param(*given, id=words) for *given, words in PASSING],
)
def test_a_good_call_passes_and_clears_the_error(library, call, changes):
    assert ask(library, call, **changes) == (OK, "")


def test_no_context_is_refused_without_a_sentence(library):
    for call in CALLS:
        signature, names = arguments(call)
        nothing = [pack(signature, {}) if name == "p" else None for name in names]
        assert getattr(library, f"{call}_check")(None, *nothing) == INVALID_ARGUMENT


def test_the_longest_sentence_ends_within_its_room(library):
    large = t(*[(1 << 40) - 1] * 5, 0, stride=(0,) * 6)
    assert ask(library, "gelu_forward", input=large)[0] == INVALID_ARGUMENT
    wide = t(*[1] * 5, 1 << 39, stride=(0,) * 6)
    status, sentence = ask(library, "matmul_forward", input=wide, other=wide)
    assert status == INVALID_ARGUMENT and len(sentence) < 384


COMPILERS = {
    "gcc": ["gcc", "-std=c11"],
    "clang": ["clang", "-std=c11"],
    "g++": ["g++", "-std=c++17", "-x", "c++"],
    "clang++": ["clang++", "-std=c++17", "-x", "c++"],
}


@pytest.mark.parametrize("compiler", COMPILERS)
def test_check_c_compiles_without_a_warning(compiler, tmp_path):
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} not found")
    source = ["-I", str(COMMON), "-c", str(COMMON / "check.c")]
    command = [*COMPILERS[compiler], *WARNINGS, *source, "-o", str(tmp_path / "x.o")]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (result.returncode, result.stderr) == (0, "")
