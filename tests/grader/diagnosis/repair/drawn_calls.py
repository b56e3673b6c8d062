# SPDX-License-Identifier: MIT
"""Draws calls of an operator, and makes them in a library that ctypes has loaded."""

from __future__ import annotations

import ctypes
import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from signatures import SIGNATURES
from signatures.structs import SCRATCH, ContextC, options_struct

from tests.proofs.mutations.cases import (
    DRAW,
    Array,
    Drawn,
    extents,
    numbers,
    pair,
    window,
)
from tests.proofs.mutations.in_c import tensor_c

MARGIN = 8  # elements around every output
NEAR = 1e-9  # of the largest right number
DTYPES = {"f": 3, "i4": 4, "i8": 5}  # dtype_t, by numpy's letter
NUMPY = {"real": "f8", "accum": "f8", "i32": "i4", "i64": "i8"}


@dataclass
class Output:
    """An output inside of a larger memory; `shape` None for one that nobody wants."""

    shape: tuple[int, ...] | None
    kind: str = "f8"

    def made(self) -> Array | None:
        """Fresh memory, filled with NaN or with -1."""
        if self.shape is None:
            return None
        room = int(np.prod(self.shape)) + 2 * MARGIN
        return np.full(room, np.nan if self.kind == "f8" else -1, self.kind)

    def view(self, memory: Array) -> Array:
        """The output itself."""
        return memory[MARGIN : memory.size - MARGIN].reshape(self.shape or ())


@dataclass
class Call:
    """One call: its function, its inputs, its options and its outputs."""

    operator: str
    direction: str
    inputs: list[Array | None]
    options: list[float]
    outputs: list[Output]

    def made(self, library: ctypes.CDLL) -> tuple[int, list[Array | None]]:
        """Calls the function. Its status, and the memory of its outputs."""
        kept: list[Array] = []

        def scratch(_: int, size: int) -> int:
            block = np.full(size // 8 + 9, np.nan)
            kept.append(block)
            return int(block.ctypes.data + 63) // 64 * 64

        memory = [output.made() for output in self.outputs]
        context = ContextC(1, None, 0, SCRATCH(scratch))
        struct = options_struct(SIGNATURES[self.operator])
        function = getattr(library, f"{self.operator}_{self.direction}")
        views = [m if m is None else o.view(m) for o, m in zip(self.outputs, memory)]
        status = function(
            ctypes.byref(context),
            *(_tensor(array) for array in self.inputs),
            *([struct(*self.options)] if struct else []),
            *(_tensor(array) for array in views),
        )
        return status, memory


def _tensor(array: Array | None) -> Any:
    """The pointer to an array's tensor_t; NULL for none."""
    if array is None:
        return None
    dtype = DTYPES["f" if array.dtype.kind == "f" else array.dtype.str[1:]]
    return ctypes.byref(tensor_c(array, null=True, dtype=dtype))


def same(expected: Any, got: Any) -> bool:
    """Whether two calls have had the same results, NaN in the same places."""
    if expected[0] != got[0]:
        return False
    if expected[0]:
        return True
    for right, other in zip(expected[1], got[1]):
        if right is None:
            continue
        if right.dtype.kind == "i":
            if not np.array_equal(right, other):
                return False
            continue
        largest = np.max(np.abs(right), initial=0.0, where=np.isfinite(right))
        if not np.allclose(right, other, NEAR, NEAR * largest, equal_nan=True):
            return False
    return True


def calls(operator: str, direction: str, right: ctypes.CDLL, count: int) -> list[Call]:
    """Drawn calls; what forward saves for backward is computed by the reference."""
    return [_call(operator, direction, right, number) for number in range(count)]


def _call(operator: str, direction: str, right: ctypes.CDLL, number: int) -> Call:
    rng = random.Random(f"repair {operator} {number}")
    signature = SIGNATURES[operator]
    shapes, options, shape = (DRAWN.get(operator) or DRAW[operator])(rng)
    inputs: dict[str, Array | None] = {}
    for one in signature.inputs:
        inputs[one.name] = numbers(rng, shapes[one.name])
        if one.optional and one.name != "rulebook" and rng.random() < 0.3:
            inputs[one.name] = None
    if "coordinates" in inputs:
        inputs["coordinates"] = _points(rng, shapes["coordinates"][0])
    values = [float(v) if isinstance(v, float) else v for v in _flat(options)]
    saved = _saved_shapes(operator, shapes, shape)
    outputs = [
        Output(saved.get(one.name, shape), NUMPY[one.dtype])
        for one in (*signature.outputs, *signature.saved)
    ]
    forward = Call(operator, "forward", list(inputs.values()), values, outputs)
    if direction == "forward":
        return forward
    known = dict(inputs)
    if signature.saved:
        _, memory = forward.made(right)
        names = [one.name for one in (*signature.outputs, *signature.saved)]
        for name, output, array in zip(names, outputs, memory):
            known[name] = output.view(array) if array is not None else None
    grads = [numbers(rng, outputs[i].shape) for i in range(len(signature.outputs))]
    wanted = []
    for name in signature.gradients:
        array = inputs[name]
        skipped = array is None or rng.random() < 0.2
        wanted.append(Output(None if skipped else array.shape))
    handed = [known[name] for name in signature.backward]
    return Call(operator, "backward", [*grads, *handed], values, wanted)


def _flat(options: dict[str, Any]) -> list[Any]:
    """The values of all options, one after the other."""
    values = (v if isinstance(v, tuple) else (v,) for v in options.values())
    return list(itertools.chain.from_iterable(values))


def _saved_shapes(operator: str, shapes: Any, output: Any) -> dict[str, Any]:
    """The shapes of the outputs that do not have the shape of the first one."""
    if operator == "layer_norm":
        return dict.fromkeys(("mean", "rstd"), output[:-1])
    if operator == "lltm":
        return {"gates": (output[0], 3 * output[1])}
    if operator == "subm_conv3d":
        places = int(np.prod(shapes["weight"][2:]))
        return {"rulebook": (places, output[0], 2), "count": (places,)}
    return {}


def _points(rng: random.Random, count: int) -> Array:
    """So many different points in a small volume."""
    places = list(itertools.product(range(2), range(3), range(4), range(4)))
    return np.array(rng.sample(places, count), "i4").reshape(count, 4)


def _gelu(rng: random.Random) -> Drawn:
    """An array of up to three axes."""
    shape = extents(rng, rng.randint(1, 3))
    return {"input": shape}, {"approximate": rng.randint(1, 2)}, shape


def _depthwise(rng: random.Random) -> Drawn:
    """Images with one to three filters for each channel."""
    image, kernel, size, options = window(rng)
    N, IC = rng.choice((1, 1, 2)), rng.randint(1, 3)
    OC = IC * rng.randint(1, 3)
    shapes = {"input": (N, IC, *image), "weight": (OC, 1, *kernel), "bias": (OC,)}
    return shapes, options, (N, OC, *size)


def _layer_norm(rng: random.Random) -> Drawn:
    """Rows along up to three axes."""
    shape = (*extents(rng, rng.randint(0, 3), largest=4), rng.randint(1, 7))
    shapes = {"input": shape, "weight": shape[-1:], "bias": shape[-1:]}
    return shapes, {"eps": 10.0 ** rng.randint(-6, 0)}, shape


def _lltm(rng: random.Random) -> Drawn:
    """A batch of cells."""
    N, IC, H = rng.randint(1, 4), rng.randint(1, 5), rng.randint(1, 5)
    state = (N, H)
    shapes = {"input": (N, IC), "weight": (3 * H, H + IC), "bias": (3 * H,)}
    return {**shapes, "h": state, "c": state}, {}, state


def _subm(rng: random.Random) -> Drawn:
    """Up to 30 points."""
    P, IC, OC = rng.randint(1, 30), rng.randint(1, 4), rng.randint(1, 4)
    kernel = tuple(rng.choice((1, 3, 3)) for _ in range(3))
    shapes = {"features": (P, IC), "coordinates": (P, 4), "bias": (OC,)}
    shapes["weight"] = (OC, IC, *kernel)
    dilation = (*pair(rng, 1, 2), rng.randint(1, 2))
    return shapes, {"dilation": dilation}, (P, OC)


DRAWN: dict[str, Callable[[random.Random], Drawn]] = {
    "gelu": _gelu,
    "depthwise_conv2d": _depthwise,
    "layer_norm": _layer_norm,
    "lltm": _lltm,
    "subm_conv3d": _subm,
}
