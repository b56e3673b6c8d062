# SPDX-License-Identifier: MIT
"""Runs a rung of lab 02 and its mutation side by side."""

from __future__ import annotations

import ctypes
import itertools
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from signatures import SIGNATURES
from signatures.structs import SCRATCH, ContextC, TensorC, options_struct

from tests.proofs.mutations.agreement import DifferenceError, same, ulps
from tests.proofs.mutations.cases import Array, Case, description, draw

MARGIN = 8  # elements around every output


DTYPE_F64 = 3
HANDED = {  # the inputs that backward is handed
    "add": (),
    "matmul": ("input", "other"),
    "linear": ("input", "weight"),
    "unfold": (),
    "conv2d": ("input", "weight"),
    "depthwise_conv2d": ("input", "weight"),
    "gelu": ("input",),
    "layer_norm": ("input", "weight", "mean", "rstd"),
    "lltm": ("input", "weight", "h", "new_c", "gates"),
}


def tensor_c(
    array: Array, *, null: bool = False, dtype: int = DTYPE_F64, device: int = 0
) -> TensorC:
    """The tensor_t of an array, which has to outlive it; `null` where it is empty."""
    data = None if null and array.size == 0 else array.ctypes.data
    strides = [stride // array.itemsize for stride in array.strides]
    return TensorC(
        data,
        array.ndim,
        dtype,
        device,
        (ctypes.c_int64 * 6)(*array.shape),
        (ctypes.c_int64 * 6)(*strides),
    )


@dataclass
class Room:
    """Outputs with NaN in and around them."""

    null: bool
    memory: list[Array | None] = field(default_factory=list)
    views: list[Array | None] = field(default_factory=list)

    def make(self, shape: tuple[int, ...]) -> Any:
        """A pointer to an output's tensor_t."""
        memory = np.full(math.prod(shape) + 2 * MARGIN, np.nan)
        view = memory[MARGIN : memory.size - MARGIN].reshape(shape)
        self.memory.append(memory)
        self.views.append(view)
        return ctypes.byref(tensor_c(view, null=self.null))

    def skip(self) -> None:
        """An output that is not wanted."""
        self.memory.append(None)
        self.views.append(None)


class LibraryC:
    """One build of a rung."""

    def __init__(self, path: Path, operator: str) -> None:
        library = ctypes.CDLL(str(path))
        self.operator = operator
        self.forward = getattr(library, f"{operator}_forward")
        self.backward = getattr(library, f"{operator}_backward")
        self.params = options_struct(SIGNATURES[operator])

    def run(self, case: Case) -> tuple[list[int], list[Room]]:
        """Both directions: their status and their outputs."""
        null = case.empty_is_null
        given = {
            name: None if array is None else ctypes.byref(tensor_c(array, null=null))
            for name, array in case.inputs.items()
        }
        options = []
        if self.params:
            values = itertools.chain.from_iterable(
                v if isinstance(v, tuple) else (v,) for v in case.options.values()
            )
            options = [self.params(*values)]
        room = Room(null), Room(null)
        kept: list[Any] = []
        context = self._context(case, kept)
        output = room[0].make(case.output)
        forward = self.forward(context, *given.values(), *options, output)
        gradients = []
        for name, array in case.inputs.items():
            if array is not None and case.wanted[name]:
                gradients.append(room[1].make(array.shape))
            else:
                room[1].skip()
                gradients.append(None)
        grad = ctypes.byref(tensor_c(case.grad_output, null=null))
        handed = [given[name] for name in HANDED[self.operator]]
        backward = self.backward(context, grad, *handed, *options, *gradients)
        return [forward, backward], list(room)

    def _context(self, case: Case, kept: list[Any]) -> Any:
        def scratch(_: int, size: int) -> int | None:
            if not case.scratch:
                return None
            block = np.full(size // 8 + 9, np.nan)
            kept.append(block)
            return int(block.ctypes.data + 63) // 64 * 64

        return ctypes.byref(ContextC(1, None, 0, SCRATCH(scratch)))


def compare(operator: str, paths: list[Path], seed: int, cases: int) -> float:
    """The largest difference in units of the last place. Raises DifferenceError."""
    right, mutated = (LibraryC(path, operator) for path in paths)
    worst = 0.0
    for i in range(cases):
        case = draw(operator, random.Random(f"{operator} {seed} {i}"))
        before = [a.copy() for a in bases(case)]
        status, expected = right.run(case)
        other_status, got = mutated.run(case)
        name = f"case {i} ({description(case)})"
        if status != other_status:
            raise DifferenceError(f"{name}: status {other_status}, expected {status}")
        if any(not same(a, b) for a, b in zip(before, bases(case), strict=True)):
            raise DifferenceError(f"{name}: an input was written to")
        scale = None
        for d in range(2):
            if status[d]:
                continue
            for k, memory in enumerate(expected[d].memory):
                other = got[d].memory[k]
                if memory is None or other is None or same(memory, other):
                    continue
                scale = scale or right.run(case.absolute())[1]
                magnitude = scale[d].memory[k]
                assert magnitude is not None
                what = f"{name}: {('forward', 'backward')[d]}, output {k}"
                worst = max(worst, ulps(memory, other, magnitude, what))
    return worst


def bases(case: Case) -> Iterator[Array]:
    """The memory of every input, gaps included."""
    for array in (*case.inputs.values(), case.grad_output):
        if array is not None:
            while isinstance(array.base, np.ndarray):
                array = array.base
            yield array
