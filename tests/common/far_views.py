# SPDX-License-Identifier: MIT
"""Calls a CUDA rung with views that reach beyond 2^31 elements. A process of its own.

    python -m tests.common.far_views LIBRARY OPERATOR

Each axis of each input in turn gets a stride of 2^31 + 8 elements, in address space
that is only reserved: of 8 GiB and more, the few pages that hold an element are there.
An offset in 32 bits lands elsewhere, on zeros or on another element, while no element
is zero. The results have to be those of the same numbers without gaps.

The library is one of cusim's plain builds, in which kernels may touch any memory of the
process; outputs and scratch are cudaMalloc's, inputs are not.
"""

from __future__ import annotations

import ctypes
import math
import mmap
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from signatures import SIGNATURES
from signatures.structs import SCRATCH, ContextC, options_struct

from tests.proofs.mutations.cases import Array
from tests.proofs.mutations.in_c import tensor_c

FAR = (1 << 31) + 8  # elements; a multiple of what vector loads want
DTYPES, DEVICE_CUDA = {"float32": 2, "int32": 4, "int64": 5}, 1
NO_RESERVE = 0x4000  # MAP_NORESERVE, which Python 3.10 has no name for
TOLERANCE = 1e-3  # numbers are small integers; a path of its own may round them
BOX = (1, 4, 3, 4)  # in which points lie, n, z, y, x
PAIRS = 7  # at each place of a rulebook that backward is handed
MALLOC = "_Z10cudaMallocPPvmN5cusim5WhereE"

Shapes = dict[str, tuple[int, ...]]
CELL = ("input", "weight", "bias", "h", "c")
POINTS = ("features", "coordinates", "weight", "bias")
NEXT = {"dilation": (1, 1, 1)}
WINDOWS = {"stride": (1, 1), "padding": (1, 1), "dilation": (1, 1)}
CASES: dict[str, list[tuple[Shapes, dict[str, Any]]]] = {
    "add": [
        ({"input": (3, 5), "other": (3, 5)}, {"alpha": 2.0}),
        ({"input": (3, 1, 8), "other": (4, 8)}, {"alpha": 1.0}),
    ],
    "unfold": [
        ({"input": (3, 3, 4, 5)}, {"kernel": (3, 2), **WINDOWS}),
        ({"input": (3, 4, 8, 8)}, {"kernel": (3, 3), **WINDOWS}),
    ],
    "matmul": [
        ({"input": (3, 3), "other": (3, 4)}, {}),
        ({"input": (3, 40, 32), "other": (3, 32, 36)}, {}),
    ],
    "linear": [
        ({"input": (3, 4), "weight": (5, 4), "bias": (5,)}, {}),
        ({"input": (3, 12, 32), "weight": (36, 32), "bias": (36,)}, {}),
    ],
    "conv2d": [
        (
            {"input": (3, 4, 5, 6), "weight": (6, 2, 3, 4), "bias": (6,)},
            {**WINDOWS, "stride": (2, 1), "groups": 2},
        ),
        (
            {"input": (3, 8, 12, 12), "weight": (16, 8, 3, 3), "bias": (16,)},
            {**WINDOWS, "groups": 1},
        ),
    ],
    "depthwise_conv2d": [
        (
            {"input": (3, 4, 5, 6), "weight": (8, 1, 3, 4), "bias": (8,)},
            {**WINDOWS, "stride": (2, 1)},
        ),
        (
            {"input": (3, 8, 12, 12), "weight": (8, 1, 3, 3), "bias": (8,)},
            WINDOWS,
        ),
    ],
    "gelu": [  # 1 is none, 2 is tanh
        ({"input": (3, 5)}, {"approximate": 1}),
        ({"input": (3, 2, 8)}, {"approximate": 2}),
    ],
    "layer_norm": [
        ({"input": (3, 5), "weight": (5,), "bias": (5,)}, {"eps": 0.5}),
        ({"input": (3, 4, 64), "weight": (64,), "bias": (64,)}, {"eps": 0.5}),
    ],
    "lltm": [
        (dict(zip(CELL, ((3, 4), (6, 6), (6,), (3, 2), (3, 2)))), {}),
        (dict(zip(CELL, ((3, 32), (96, 64), (96,), (3, 32), (3, 32)))), {}),
    ],
    "subm_conv3d": [
        (dict(zip(POINTS, ((9, 3), (9, 4), (4, 3, 3, 1, 3), (4,)))), NEXT),
        (dict(zip(POINTS, ((34, 17), (34, 4), (35, 17, 1, 3, 1), (35,)))), NEXT),
    ],
}


class WhereC(ctypes.Structure):
    """cusim::Where, the last argument of cudaMalloc."""

    _fields_ = (("file", ctypes.c_char_p), ("line", ctypes.c_int))


def far(numbers: Array, axis: int) -> Array:
    """The same numbers, far apart along one axis."""
    strides = [stride // numbers.itemsize for stride in numbers.strides]
    strides[axis] = FAR
    last = sum((n - 1) * s for n, s in zip(numbers.shape, strides))
    bytes_ = (FAR + last + 1) * numbers.itemsize  # an offset may be negative by mistake
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE
    memory = np.frombuffer(mmap.mmap(-1, bytes_, flags=flags), dtype=numbers.dtype)
    steps = [s * numbers.itemsize for s in strides]
    view = np.lib.stride_tricks.as_strided(memory[FAR:], numbers.shape, steps)
    view[...] = numbers
    return view


def tensor_of(array: Array) -> Any:
    """A pointer to the tensor_t of an array, which has to outlive it."""
    dtype = DTYPES[array.dtype.name]
    return ctypes.pointer(tensor_c(array, dtype=dtype, device=DEVICE_CUDA))


@dataclass
class Library:
    """A rung, and the cusim it is linked with."""

    path: str
    operator: str
    keep: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.code = ctypes.CDLL(self.path)
        self.allocate = getattr(self.code, MALLOC)
        self.allocate.argtypes = [ctypes.c_void_p, ctypes.c_size_t, WhereC]
        self.scratch = SCRATCH(lambda _, size: self.device(size))

    def device(self, size: int) -> int:
        """The address of so many bytes of device memory."""
        block = ctypes.c_void_p()
        if self.allocate(ctypes.byref(block), max(size, 1), WhereC(b"far_views", 1)):
            raise MemoryError("cudaMalloc has no memory")
        assert block.value
        return block.value

    def empty(self, like: Array) -> Array:
        """An output of this shape and dtype, full of NaN; of integers, of 0."""
        memory = (ctypes.c_char * like.nbytes).from_address(self.device(like.nbytes))
        array = np.frombuffer(memory, dtype=like.dtype).reshape(like.shape)
        array[...] = np.nan if like.dtype.kind == "f" else 0
        return array

    def call(
        self,
        direction: str,
        given: list[Array],
        options: dict[str, Any],
        wanted: list[Array],
    ) -> list[Array]:
        """The outputs of a call, each like one that is wanted. Raises RuntimeError if
        it answers anything but OK.
        """
        context = ContextC(1, None, DEVICE_CUDA, self.scratch)
        outputs = [self.empty(like) for like in wanted]
        words = [tensor_of(array) for array in given]
        params = options_struct(SIGNATURES[self.operator])
        if params:
            flat = [options[name] for name, _ in named(params)]
            words.append(params(*flat))
        words += [tensor_of(array) for array in outputs]
        function = getattr(self.code, f"{self.operator}_{direction}")
        status = function(ctypes.byref(context), *words)
        if status:
            raise RuntimeError(f"status {status}: {context.error.decode()}")
        return outputs


def named(params: type[ctypes.Structure]) -> list[tuple[str, Any]]:
    """The fields of an options struct."""
    return list(params._fields_)  # type: ignore[arg-type]


def flat(options: dict[str, Any]) -> dict[str, Any]:
    """Options by the names of their fields: pairs as _h and _w, triples as _d too."""
    made: dict[str, Any] = {}
    for name, value in options.items():
        if isinstance(value, tuple):
            made |= {f"{name}_{a}": v for a, v in zip("dhw"[-len(value) :], value)}
        else:
            made[name] = value
    return made


def result_shape(operator: str, shapes: Shapes, o: dict[str, Any]) -> tuple[int, ...]:
    """The shape of forward's output."""
    x = shapes["input"]
    if operator in ("gelu", "layer_norm"):
        return x
    if operator == "add":
        return tuple(np.broadcast_shapes(x, shapes["other"]))
    if operator == "matmul":
        return (*x[:-1], shapes["other"][-1])
    if operator == "linear":
        return (*x[:-1], shapes["weight"][0])
    kernel = shapes["weight"][2:] if "weight" in shapes else o["kernel"]
    size = [
        (x[2 + i] + 2 * o["padding"][i] - o["dilation"][i] * (kernel[i] - 1) - 1)
        // o["stride"][i]
        + 1
        for i in range(2)
    ]
    if operator == "unfold":
        return (x[0], x[1] * math.prod(kernel), math.prod(size))
    return (x[0], shapes["weight"][0], *size)


def result_shapes(operator: str, shapes: Shapes, o: dict[str, Any]) -> Shapes:
    """The shapes of all that forward gives, by name."""
    if operator == "lltm":
        N, H = shapes["h"]
        return {"new_h": (N, H), "new_c": (N, H), "gates": (N, 3 * H)}
    if operator == "subm_conv3d":
        (P, _), (OC, _, *kernel) = shapes["features"], shapes["weight"]
        places = math.prod(kernel)
        return {"output": (P, OC), "rulebook": (places, P, 2), "count": (places,)}
    made = {"output": result_shape(operator, shapes, o)}
    if operator == "layer_norm":
        made["mean"] = made["rstd"] = shapes["input"][:-1]
    return made


def numbers(name: str, shape: tuple[int, ...], seed: int) -> Array:
    """Small integers, hardly one of them 0: of points and pairs such as may be."""
    if name == "coordinates":  # distinct points
        return np.array([*np.ndindex(BOX)][: shape[0]], dtype=np.int32) + 1
    if name == "rulebook":  # place k joins each row with the k-th after it
        k, write, side = np.indices(shape, dtype=np.int32)
        return np.where(side == 0, (write + k) % shape[1], write)
    if name == "count":
        return np.full(shape, PAIRS, dtype=np.int64)
    rng = np.random.default_rng(seed)
    signs = rng.choice([-1, 1], shape)
    return (signs * rng.integers(1, 5, shape)).astype(np.float32)


def variants(given: list[Array]) -> Iterator[tuple[str, list[Array]]]:
    """The inputs, one of them far along one axis; then all of them along the first."""
    for i, array in enumerate(given):
        for axis, size in enumerate(array.shape):
            if size > 1:
                changed = [*given[:i], far(array, axis), *given[i + 1 :]]
                yield f"tensor {i}, axis {axis}", changed
    yield "all, axis 0", [far(array, 0) for array in given]


def prove(library: Library, shapes: Shapes, options: dict[str, Any]) -> int:
    """Both directions of one case, as far as the rung has them. Returns the calls.

    Raises ValueError with the first difference.
    """
    operator, words = library.operator, flat(options)
    signature = SIGNATURES[operator]
    results = result_shapes(operator, shapes, options)
    inputs = {n: numbers(n, shape, i) for i, (n, shape) in enumerate(shapes.items())}
    made = {
        n: numbers(n, shape, 19 + i) for i, (n, shape) in enumerate(results.items())
    }
    starts = [numbers("", made[a.name].shape, 9) for a in signature.outputs]
    handed = [*starts, *({**inputs, **made}[name] for name in signature.backward)]
    calls = 0
    for direction, given, wanted in (
        ("forward", list(inputs.values()), list(made.values())),
        ("backward", handed, [inputs[name] for name in signature.gradients]),
    ):
        if not hasattr(library.code, f"{operator}_{direction}"):
            continue
        right = library.call(direction, given, words, wanted)
        for name, arrays in variants(given):
            got = library.call(direction, arrays, words, wanted)
            calls += 1
            for k, (a, b) in enumerate(zip(right, got, strict=True)):
                off = np.abs(a - b) > TOLERANCE * (1 + np.abs(a).max())
                if not np.isfinite(a).all() or not np.isfinite(b).all() or off.any():
                    where = f"{operator}_{direction}, {list(shapes.values())}, {name}"
                    raise ValueError(f"{where}: output {k} differs")
    return calls


def main(arguments: list[str]) -> int:
    """Prove one library; 1 with a sentence if a far view gives other numbers."""
    path, operator = arguments
    library = Library(path, operator)
    try:
        calls = sum(prove(library, *case) for case in CASES[operator])
    except (ValueError, RuntimeError) as error:
        print(error)
        return 1
    print(f"{calls} calls with far views agree")
    return 0 if calls else 1


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(code)  # cusim would list at exit what was never freed
