# SPDX-License-Identifier: MIT
"""Draws random questions about views: tensors with any strides, and arguments.

PyTorch refuses some of the arguments. Arguments on both sides of a limit are frequent.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import torch
from signatures.view_names import VIEWS

from grader.checks.views.dlpack import MAX_DIMS, OF_CPU, OF_CUDA, Borrowing, Lending
from grader.checks.views.placing import CPU, CUDA, DTYPES, Layout
from grader.checks.views.questions import Question

COUNT = 250  # questions for a function
FARTHEST = 2**63 - 1
SPOILED = 0.25  # share of questions with arguments that are meant to be refused
# DLDataType.code and bits of DTYPES, and some that tensor.h has no word for
KINDS = ((2, 16), (4, 16), (2, 32), (2, 64), (0, 32), (0, 64))
STRANGE = ((0, 8), (0, 16), (1, 32), (1, 64), (2, 8), (4, 32), (5, 64), (6, 8), (2, 24))


def questions(function: str, seed: int) -> list[Question]:
    """What a function is asked, the smallest question first."""
    rng = random.Random(f"{function} {seed}")
    drawn = [_DRAWN[function](rng) for _ in range(COUNT)]
    return sorted(drawn, key=lambda asked: asked.weight)


# ---- tensors -------------------------------------------------------------------------


def _size(rng: random.Random, axes: int) -> tuple[int, ...]:
    """Sizes; most tensors have elements."""
    low = 0 if rng.random() < 0.15 else 1
    return tuple(rng.choice((low, 1, 1, 2, 3, 4, 5)) for _ in range(axes))


def _stride(rng: random.Random, size: tuple[int, ...]) -> tuple[int, ...]:
    """Dense, with gaps, axes in another order, repeated, or any."""
    kind = rng.random()
    if kind < 0.15:
        return tuple(rng.choice((0, 0, 1, 2, 3, 7)) for _ in size)
    order = list(range(len(size)))
    if kind < 0.4:
        rng.shuffle(order)
    gaps = 0.3 if kind > 0.7 else 0.0
    strides, step = [0] * len(size), 1
    for axis in reversed(order):
        step *= rng.choice((2, 3)) if rng.random() < gaps else 1
        strides[axis] = step
        step *= max(1, size[axis])
    if kind > 0.85:
        strides = [0 if rng.random() < 0.3 else one for one in strides]
    return tuple(strides)


def _layout(rng: random.Random, size: tuple[int, ...] | None = None) -> Layout:
    """A tensor in a storage."""
    if size is None:
        size = _size(rng, rng.choice((0, 1, 2, 2, 3, 3, 4, 5)))
    dtype = rng.randrange(len(DTYPES))
    start = rng.choice((0, 1, 2, 5)) * DTYPES[dtype].itemsize
    device = CUDA if rng.random() < 0.2 else CPU
    return Layout(size, _stride(rng, size), start, dtype, device)


def _about(function: str, given: Layout, *arguments: object) -> Question:
    return Question(function, given, given.reach, arguments)


# ---- functions -----------------------------------------------------------------------


def _as_strided(rng: random.Random) -> Question:
    made = _layout(rng)
    offset, size, stride = made.start // made.bytes, [*made.size], [*made.stride]
    room = made.reach + rng.choice((0, 0, 0, -1, 1, made.bytes, -made.bytes, 64))
    if not made.numel and rng.random() < 0.5:
        offset = 99
    if rng.random() < SPOILED / 2 and size:
        axis = rng.randrange(len(size))
        spoiled = rng.choice((size, stride))
        if spoiled is stride or 0 not in size:
            spoiled[axis] = -1
    if rng.random() < 0.08:
        offset = -1
    given = Layout((0,), (1,), 0, made.dtype, made.device)
    arguments = tuple(size), tuple(stride), offset
    return Question("as_strided", given, max(room, 0), arguments)


def _transpose(rng: random.Random) -> Question:
    given = _layout(rng)
    axes = max(1, len(given.size))
    dims = [rng.randrange(-axes, axes) for _ in range(2)]
    if rng.random() < SPOILED:
        dims[rng.randrange(2)] = rng.choice((axes, -axes - 1))
    return _about("transpose", given, *dims)


def _slice(rng: random.Random) -> Question:
    given = _layout(rng)
    axes = max(1, len(given.size))
    dim = rng.randrange(-axes, axes)
    size = given.size[dim] if given.size else 1
    ends = *range(-size - 2, size + 3), *range(-size, size + 1), -FARTHEST - 1, FARTHEST
    step = rng.choice((1, 1, 1, 2, 2, 3, 5, 100))
    if rng.random() < SPOILED:
        dim, step = rng.choice(((axes, step), (-axes - 1, step), (dim, 0), (dim, -1)))
    return _about("slice", given, dim, rng.choice(ends), rng.choice(ends), step)


def _expand(rng: random.Random) -> Question:
    given = _layout(rng)
    front = rng.randint(0, min(2, MAX_DIMS - len(given.size)))
    size = [*_size(rng, front)]
    for old in given.size:
        grown = [rng.choice((0, 1, 2, 3, 4, -1))] if old == 1 else []
        size.append(rng.choice((old, old, -1, *grown, *grown)))
    if rng.random() < SPOILED and size:
        axis = rng.randrange(len(size))
        how = rng.randrange(4)
        if how == 0:
            size[axis] += 1
        elif how == 1:
            size[0] = -1
        elif how == 2:
            size[axis] = -2
        else:
            size = size[1:]
    return _about("expand", given, tuple(size))


def _cut(rng: random.Random, runs: list[int]) -> list[int]:
    """Each of these sizes as a product of one to three, with ones in between."""
    made: list[int] = []
    for run in runs:
        while run > 1 and rng.random() < 0.6:
            factor = rng.choice([n for n in range(1, run + 1) if run % n == 0])
            made.append(factor)
            run //= factor
        made.append(run)
    return made


def _reshape(rng: random.Random) -> Question:
    given = _layout(rng)
    runs: list[int] = []
    for extent in given.size:  # neighbours are joined, then everything is cut anew
        if runs and rng.random() < 0.5:
            runs[-1] *= extent
        else:
            runs.append(extent)
    if rng.random() < 0.15:
        runs = [given.numel]
    size = [n for n in _cut(rng, runs) if n != 1 or rng.random() < 0.6]
    if rng.random() < 0.1 and not given.numel:
        size = [*_size(rng, 2), rng.choice((0, 2))]
    if rng.random() < 0.3 and size:
        size[rng.randrange(len(size))] = -1
    if rng.random() < SPOILED and size:
        axis = rng.randrange(len(size))
        size[axis] = rng.choice((-1, -2, size[axis] + 1, size[axis] * 2, 0))
    return _about("reshape", given, tuple(size[:MAX_DIMS]))


def _to_dlpack(rng: random.Random) -> Question:
    given = _layout(rng)
    return Lending("to_dlpack", given, given.reach)


def _from_dlpack(rng: random.Random) -> Question:
    size = _size(rng, rng.choice((0, 1, 2, 3, 4, 6, 6, 7, 8)))
    made = _layout(rng, size)
    dense = rng.random() < 0.4
    stride = torch.empty(size, device="meta").stride() if dense else made.stride
    code, bits = KINDS[made.dtype]
    lanes, device = 1, OF_CUDA if rng.random() < 0.25 else OF_CPU
    if rng.random() < SPOILED and size and 0 not in size:
        how, axis = rng.randrange(5), rng.randrange(len(size))
        if how == 0:
            lanes = rng.choice((0, 2, 4))
        elif how == 1:
            code, bits = rng.choice(STRANGE)
        elif how == 2:
            device = rng.choice((0, 3, 4, 9))
        elif how == 3 or dense:
            size = (*size[:axis], -size[axis], *size[axis + 1 :])
        else:
            stride = (*stride[:axis], -1, *stride[axis + 1 :])
    given = Layout(size, stride, made.start, made.dtype)
    ahead = rng.choice((0, 0, given.start, given.start // 2))
    room = Layout(tuple(map(abs, size)), tuple(map(abs, stride)), given.start, 3).reach
    rest = (code, bits, lanes, device, ahead, dense)
    return Borrowing("from_dlpack", given, room + 64, (), *rest)


_DRAWN: dict[str, Callable[[random.Random], Question]] = dict(
    zip(
        VIEWS,
        (
            *(_as_strided, _transpose, _slice, _expand),
            *(_reshape, _to_dlpack, _from_dlpack),
        ),
    )
)
