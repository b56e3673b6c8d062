# SPDX-License-Identifier: MIT
"""Random cases for comparing two programs, drawn without a look at the grader.

Shapes with zeros and ones among them, strides of every kind (axes in another order,
gaps, repetitions), options, absent inputs, gradients nobody wants.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

NO_MEMORY = 0.05  # share of cases without scratch memory
Array = np.ndarray[Any, Any]
Drawn = tuple[dict[str, Any], dict[str, Any], Any]  # shapes, options, output's shape


@dataclass
class Case:
    """One call, forward and backward: numbers with their strides, options, wishes."""

    inputs: dict[str, Array | None]  # in the operator's order
    options: dict[str, Any]  # PyTorch's names; pairs of two
    output: tuple[int, ...]
    grad_output: Array
    wanted: dict[str, bool]
    scratch: bool = True  # whether there is memory
    empty_is_null: bool = True  # data of tensors without elements

    def absolute(self) -> Case:
        """The same with absolute values: its results are the sums' magnitudes."""
        options = {k: abs(v) if k == "alpha" else v for k, v in self.options.items()}
        inputs = {k: v if v is None else positive(v) for k, v in self.inputs.items()}
        grad = positive(self.grad_output)
        return Case(inputs, options, self.output, grad, self.wanted)


def positive(array: Array) -> Array:
    """Absolute values; of a single number too as an array."""
    return np.asarray(np.abs(array))


def numbers(rng: random.Random, shape: tuple[int, ...]) -> Array:
    """Random numbers of a shape, in memory in some order, with gaps, or repeated."""
    make = np.random.default_rng(rng.getrandbits(63))
    axes = list(range(len(shape)))
    rng.shuffle(axes)
    order = axes if rng.random() < 0.4 else sorted(axes)
    steps = [rng.choice((1, 1, 1, 2, 3)) for _ in shape]
    repeats = [rng.random() < 0.1 for _ in shape]
    gaps = rng.random() < 0.4
    strides, stride = [0] * len(shape), 1
    for axis in reversed(order):
        step = steps[axis] if gaps else 1
        if repeats[axis]:
            continue  # stride 0: read again for every index
        strides[axis] = stride * step
        stride *= max(1, shape[axis]) * step
    first = rng.randint(0, 3)
    kind = rng.random()
    memory = make.standard_normal(stride + first + 1)
    if kind < 0.2:
        memory = np.round(memory * 3)
    elif kind < 0.3:
        memory = memory * 10.0 ** make.integers(-6, 7, memory.shape)
    return np.lib.stride_tricks.as_strided(
        memory[first:], shape, [8 * s for s in strides]
    )


def extents(rng: random.Random, axes: int, *, largest: int = 6) -> tuple[int, ...]:
    """Sizes, a zero among them now and then."""
    return tuple(
        0 if rng.random() < 0.04 else rng.randint(1, largest) for _ in range(axes)
    )


def pair(rng: random.Random, low: int, high: int) -> tuple[int, int]:
    """Two options, mostly small."""
    first = [low, low, rng.randint(low, high)]
    return rng.choice(first), rng.choice([low, rng.randint(low, high)])


def draw_add(rng: random.Random) -> Drawn:
    """Two shapes that stretch to a common one."""
    common = extents(rng, rng.randint(0, 6), largest=4)
    shapes = []
    for _ in range(2):
        kept = common[rng.randint(0, len(common)) :] if rng.random() < 0.4 else common
        shapes.append(tuple(1 if rng.random() < 0.3 else size for size in kept))
    alpha = rng.choice((0.0, 1.0, 1.0, 2.0, -1.0, rng.gauss(0, 2)))
    output = tuple(np.broadcast_shapes(*shapes))
    return {"input": shapes[0], "other": shapes[1]}, {"alpha": alpha}, output


def draw_matmul(rng: random.Random) -> Drawn:
    """Matrices of up to 11 rows, in batches of up to 4 axes."""
    batch = extents(rng, rng.choice((0, 0, 1, 1, 2, 3, 4)), largest=3)
    M, K, N = extents(rng, 3, largest=11)
    return {"input": (*batch, M, K), "other": (*batch, K, N)}, {}, (*batch, M, N)


def draw_linear(rng: random.Random) -> Drawn:
    """Rows along up to 5 axes."""
    leading = extents(rng, rng.choice((0, 1, 1, 2, 3, 5)), largest=4)
    IC, OC = rng.randint(1, 12), rng.randint(1, 12)
    shapes = {"input": (*leading, IC), "weight": (OC, IC), "bias": (OC,)}
    return shapes, {}, (*leading, OC)


def window(rng: random.Random) -> tuple[Any, Any, Any, dict[str, Any]]:
    """Image, kernel and output of a sliding window that fits at least once."""
    while True:
        options = {
            "stride": pair(rng, 1, 4),
            "padding": pair(rng, 0, 3),
            "dilation": pair(rng, 1, 3),
        }
        image = rng.randint(1, 9), rng.randint(1, 9)
        kernel = rng.randint(1, 4), rng.randint(1, 4)
        room = [
            image[i]
            + 2 * options["padding"][i]
            - options["dilation"][i] * (kernel[i] - 1)
            for i in range(2)
        ]
        if min(room) >= 1:
            output = tuple((room[i] - 1) // options["stride"][i] + 1 for i in range(2))
            return image, kernel, output, options


def draw_unfold(rng: random.Random) -> Drawn:
    """Images and a window."""
    image, kernel, (OH, OW), options = window(rng)
    N, IC = rng.choice((0, 1, 1, 2, 3)), rng.randint(1, 4)
    order = ("kernel_size", "dilation", "padding", "stride")
    options = {"kernel_size": kernel, **options}
    output = (N, IC * kernel[0] * kernel[1], OH * OW)
    return {"input": (N, IC, *image)}, {name: options[name] for name in order}, output


def draw_conv2d(rng: random.Random) -> Drawn:
    """Images, filters in groups, a window."""
    image, kernel, size, options = window(rng)
    G = rng.choice((1, 1, 2, 3))
    N, IC, OC = rng.choice((0, 1, 1, 2)), G * rng.randint(1, 3), G * rng.randint(1, 3)
    shapes = {
        "input": (N, IC, *image),
        "weight": (OC, IC // G, *kernel),
        "bias": (OC,),
    }
    return shapes, {**options, "groups": G}, (N, OC, *size)


DRAW: dict[str, Callable[[random.Random], Drawn]] = {
    "add": draw_add,
    "matmul": draw_matmul,
    "linear": draw_linear,
    "unfold": draw_unfold,
    "conv2d": draw_conv2d,
}


def draw(operator: str, rng: random.Random) -> Case:
    """A random case."""
    shapes, options, output = DRAW[operator](rng)
    inputs: dict[str, Array | None] = {k: numbers(rng, s) for k, s in shapes.items()}
    if "bias" in inputs and rng.random() < 0.3:
        inputs["bias"] = None
    wanted = {k: v is not None and rng.random() < 0.7 for k, v in inputs.items()}
    grad = numbers(rng, output)
    memory = rng.random() >= NO_MEMORY
    return Case(inputs, options, output, grad, wanted, memory, rng.random() < 0.5)


def description(case: Case) -> str:
    """A case in a few words."""
    shapes = {k: "None" if a is None else list(a.shape) for k, a in case.inputs.items()}
    words = " ".join(f"{k} {v}" for k, v in {**shapes, **case.options}.items())
    wanted = "+".join(k for k, v in case.wanted.items() if v) or "nothing"
    return f"{words}, wanted {wanted}" + ("" if case.scratch else ", no scratch memory")
