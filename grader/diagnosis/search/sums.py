# SPDX-License-Identifier: MIT
"""Computes sums of products from their indices, right ones or wrong ones.

Many operators are such a sum. A convolution multiplies `input` and `weight`, and adds
to `output`. Each of these tensors has an index for each of its axes:

    ih = oh*stride_h + kh*dilation_h - padding_h

An index is a sum of terms: coefficient times loop variable. Both are names here. A
case gives each coefficient a number, and each loop variable a range.

Backward needs no other formula. It is the same sum, added to another tensor:
`grad_weight` takes the products of `output` (its gradient) and `input`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import torch

from grader.diagnosis.mistakes.formulas import (
    UNKNOWN,
    forget,
    forget_flat,
    kept,
    row_major,
)

T = torch.Tensor
Term = tuple[str, str]  # coefficient and loop variable; "": the coefficient alone
Index = tuple[Term, ...]
Indices = tuple[Index, ...]  # one for each axis of a tensor
Ends = tuple[int, int]  # iterations that a loop leaves out at its beginning and end
Loops = tuple[str, ...]  # loop variables
Made = Mapping[str, range]  # the iterations of each loop
ALL_BUT_ONE = -1  # of the iterations


@dataclass(frozen=True)
class Tail:
    """The last, incomplete tile of a tensor along some axes, which is left out."""

    tensor: str
    axes: tuple[int, ...]
    tile: int
    how: str = ""  # "flat": the axes from axes[0] on, counted through as one; "corner":
    # where the tiles of all these axes end

    def less(self, tensor: T, fill: float) -> T:
        """The tensor without it."""
        if self.how == "flat":
            return forget_flat(tensor, self.axes[0], self.tile, fill)
        if self.how != "corner":
            return forget(tensor, self.axes, self.tile, fill)
        begins = {axis: kept(tensor.shape[axis], self.tile) for axis in self.axes}
        corner = [slice(begins.get(axis, 0), None) for axis in range(tensor.dim())]
        made = tensor.clone()
        made[tuple(corner)] = fill
        return made


@dataclass(frozen=True)
class Sum:
    """What is multiplied, where it is read, and where the products are added."""

    tensors: Mapping[str, Indices]  # by name; a gradient has the name of its tensor
    padded: str = ""  # this tensor is 0 outside of its axes
    tested: tuple[int, ...] = ()  # the axes along which the code tests this
    outside: str = "zeros"  # what is read there; or: memory, edge, mirror, around
    hidden: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    # by axis of `padded`: so many elements at its ends are taken for outside
    powers: Mapping[str, int] = field(default_factory=dict)  # of a factor; usual: 1
    skipped: Mapping[str, Ends] = field(default_factory=dict)  # by loop variable
    tiles: Mapping[str, int] = field(default_factory=dict)  # a loop makes whole ones
    ranges: Mapping[str, str] = field(default_factory=dict)  # of which other loop
    mean_over: tuple[str, ...] = ()  # the sum is divided by the ranges of these loops
    times: tuple[str, ...] = ()  # or multiplied by them
    scale: float = 1.0
    kept: str = ""  # "last", "first": of the products that meet, this one stays
    kept_over: tuple[str, ...] = ()  # the loops of these products, the outer one first
    orders: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    # of a tensor's axes in memory, if they are not stored in their own order
    sizes: Mapping[str, str] = field(default_factory=dict)  # a tensor's other sizes
    tail: Tail | None = None


@dataclass(frozen=True)
class Numbers:
    """One case: what the names in a Sum stand for."""

    coefficients: Mapping[str, int]
    ranges: Mapping[str, int]  # loop variable -> how many iterations
    tensors: Mapping[str, T]  # each with as many axes as it has indices
    sizes: Mapping[str, tuple[int, ...]]  # also of the tensor that is computed
    dense: frozenset[str]  # tensors whose memory is contiguous
    tables: Mapping[str, T] = field(default_factory=dict)  # of loops; -1: nothing
    known: dict[object, tuple[T, T]] = field(default_factory=dict)  # made before


def evaluate(sum_: Sum, numbers: Numbers, target: str, *, untouched: float = 0.0) -> T:
    """The tensor `target`; `untouched` stands where no product is added."""
    made = {loop: _iterations(sum_, numbers, loop) for loop in loops_of(sum_)}
    axes = tuple(dict.fromkeys((*sum_.kept_over, *_loops(sum_.tensors[target]))))
    factors = {n: _loops(sum_.tensors[n]) for n in sum_.tensors if n != target}
    used = set(axes).union(*factors.values())
    scale = sum_.scale * math.prod(len(made[x]) for x in made if x not in used)
    scale *= math.prod(numbers.ranges[loop] for loop in sum_.times)
    scale /= max(1, math.prod(numbers.ranges[loop] for loop in sum_.mean_over))
    values = [_read(sum_, numbers, made, name)[0] for name in factors]
    product = _summed(values, list(factors.values()), axes)
    flat, inside = _places(sum_, numbers, made, target, axes)
    if sum_.kept and sum_.padded in factors:
        there = _read(sum_, numbers, made, sum_.padded)[1].double()
        inside = inside & _summed([there], [factors[sum_.padded]], axes).bool()
    count = math.prod(numbers.sizes[target])
    at = torch.where(inside, flat, count).flatten()
    product = product.expand(flat.shape).flatten()
    result = torch.zeros(count + 1, dtype=torch.float64)  # the last: outside
    if sum_.kept:
        result, touched = _kept(result, at, scale * product, last=sum_.kept == "last")
    else:
        result.index_add_(0, at, product, alpha=scale)
        touched = torch.zeros(count + 1, dtype=torch.bool)
        if untouched and target == sum_.padded:
            touched[:count] = _gathered(sum_, made, numbers.sizes[target])
        elif untouched:
            touched[at] = True
    if untouched:
        result[~touched] = untouched
    return result[:count].reshape(numbers.sizes[target])


def _summed(values: list[T], loops: list[Loops], axes: Loops) -> T:
    """The product of factors, summed over all loops but `axes`."""
    every = list(dict.fromkeys(loop for own in loops for loop in own))
    letters = {loop: chr(ord("a") + at) for at, loop in enumerate(every)}
    words = ["".join(letters[loop] for loop in own) for own in loops]
    result = "".join(letters.get(loop, "") for loop in axes)
    made: T = torch.einsum(f"{','.join(words)}->{result}", *values)
    sizes = iter(made.shape)
    return made.reshape([next(sizes) if loop in letters else 1 for loop in axes])


def _gathered(sum_: Sum, made: Made, size: tuple[int, ...]) -> T:
    """The elements of `padded` that are written if each gathers its products."""
    touched = torch.ones(size, dtype=torch.bool)
    for axis, index in enumerate(sum_.tensors[sum_.padded]):
        (coefficient, loop), *more = index
        if coefficient == "1" and loop in made and not more:
            there = torch.arange(size[axis])
            there = (there >= made[loop].start) & (there < made[loop].stop)
            touched &= there.reshape([-1] + [1] * (len(size) - 1 - axis))
    return touched.flatten()


def _kept(made: T, at: T, product: T, *, last: bool) -> tuple[T, T]:
    """Of all products for one element the last or the first, and where one is."""
    rank = torch.arange(1, 1 + len(at))
    none = torch.zeros(len(made), dtype=torch.long)
    reduce = "amax" if last else "amin"
    which = none.scatter_reduce(0, at, rank, reduce, include_self=False)
    return torch.cat([made[:1], product])[which], which > 0


def loops_of(sum_: Sum) -> list[str]:
    """The loop variables of all indices."""
    every = (loop for indices in sum_.tensors.values() for loop in _loops(indices))
    return list(dict.fromkeys(every))


@functools.cache
def _loops(indices: Indices) -> Loops:
    """The loop variables of one tensor's indices."""
    variables = (variable for index in indices for _, variable in index)
    return tuple(dict.fromkeys(loop for v in variables for loop in loops_in(v)))


@functools.cache
def loops_in(variable: str) -> Loops:
    """kh of "kh", "~kh" and "^kh", p and k of "neighbour[p,k]", none of ""."""
    inside = variable.partition("[")[2] or variable.lstrip("~^")
    return tuple(inside.rstrip("]").split(",")) if inside else ()


def _iterations(sum_: Sum, numbers: Numbers, loop: str) -> range:
    """The iterations that a loop makes."""
    whole = range(numbers.ranges[sum_.ranges.get(loop, loop)])
    begin, end = sum_.skipped.get(loop, (0, 0))
    if begin == ALL_BUT_ONE:
        return whole[-1:]
    if loop in sum_.tiles:
        end = len(whole) - kept(len(whole), sum_.tiles[loop])
    return whole[:1] if end == ALL_BUT_ONE else whole[begin : len(whole) - end]


def _read(sum_: Sum, numbers: Numbers, made: Made, name: str) -> tuple[T, T]:
    """A factor for each iteration of its loops, and where it has elements."""
    loops = _loops(sum_.tensors[name])
    tail = sum_.tail if sum_.tail and sum_.tail.tensor == name else None
    key = ("read", sum_.powers.get(name, 1), tail, *_key(sum_, made, name, loops))
    if key not in numbers.known:
        flat, inside = _places(sum_, numbers, made, name, loops)
        zeros = name == sum_.padded and sum_.outside == "zeros"
        tensor = numbers.tensors[name]
        memory = (tail.less(tensor, 0.0) if tail else tensor).flatten()
        values = memory[torch.where(inside, flat, 0)] if len(memory) else 0.0 * flat
        values = values ** sum_.powers.get(name, 1)
        values = torch.where(inside, values, 0.0 if zeros else UNKNOWN)
        numbers.known[key] = values, inside
    return numbers.known[key]


def _key(sum_: Sum, made: Made, name: str, loops: Loops) -> tuple[object, ...]:
    """All that the places of a tensor depend on."""
    ranges = tuple(made[loop] for loop in loops)
    layout = sum_.orders.get(name), sum_.sizes.get(name)
    padded = (sum_.outside, *sum_.hidden.items()) if name == sum_.padded else ()
    return name, sum_.tensors[name], loops, ranges, layout, padded


def _places(
    sum_: Sum, numbers: Numbers, made: Made, name: str, loops: Loops
) -> tuple[T, T]:
    """The element of a tensor that each iteration means, counted through, and whether
    there is one.
    """
    key = ("places", *_key(sum_, made, name, loops))
    if key in numbers.known:
        return numbers.known[key]
    size = numbers.sizes[name]
    stored = numbers.sizes[sum_.sizes.get(name, name)]
    order = sum_.orders.get(name, tuple(range(len(size))))
    steps = dict(zip(order, row_major([stored[axis] for axis in order])))
    padded, outside = name == sum_.padded, sum_.outside
    tested = sum_.tested if padded and outside == "zeros" else ()
    flat: T | int = 0
    inside: T | bool = True
    for axis, index in enumerate(sum_.tensors[name]):
        place = _place(numbers, made, index, loops)
        if padded and outside in BORDERS:
            place = BORDERS[outside](place, size[axis])
        flat = flat + place * steps[axis]
        if axis in tested or name not in numbers.dense:
            low, high = sum_.hidden.get(axis, ("0", "0")) if padded else ("0", "0")
            end = stored[axis] - _value(numbers, high)
            inside = inside & (place >= _value(numbers, low)) & (place < end)
    assert isinstance(flat, torch.Tensor)
    inside = inside & (flat >= 0) & (flat < math.prod(size))
    shape = [len(made[loop]) for loop in loops]
    numbers.known[key] = flat.expand(shape), inside.expand(shape)
    return numbers.known[key]


def _place(numbers: Numbers, made: Made, index: Index, loops: Loops) -> T:
    """The values of one index, along the axes of its loops."""
    place = torch.zeros((1,) * len(loops), dtype=torch.long)
    for coefficient, variable in index:
        values: T | int = 1
        if variable:
            values = _variable(numbers, made, variable, loops)
        place = place + _value(numbers, coefficient) * values
    return place


BORDERS = {  # what an index outside of an axis is turned into
    "edge": lambda place, size: place.clamp(0, size - 1),
    "mirror": lambda place, size: (size - 1) - ((size - 1) - place.abs()).abs(),
    "around": lambda place, size: place % size,
}


def _value(numbers: Numbers, coefficient: str) -> int:
    """The number that a coefficient stands for: "2", "stride_h" or "-2*padding_h"."""
    value = -1 if coefficient.startswith("-") else 1
    for name in coefficient.removeprefix("-").split("*"):
        value *= int(name) if name.isdigit() else numbers.coefficients[name]
    return value


def _variable(numbers: Numbers, made: Made, variable: str, loops: Loops) -> T:
    """The values of a variable, along the axes of its loops; "~kh" counts down, "^kh"
    stays at the last one.
    """
    own = loops_in(variable)
    if "[" in variable:
        values = numbers.tables[variable.partition("[")[0]]
        for axis, loop in enumerate(own):
            values = values.narrow(axis, made[loop].start, len(made[loop]))
    else:
        values = torch.arange(made[own[0]].start, made[own[0]].stop)
    if variable[0] in "~^":
        last = numbers.ranges[own[0]] - 1
        values = last - values if variable[0] == "~" else 0 * values + last
    at = [loops.index(loop) for loop in own]
    if at != sorted(at):
        values = values.mT
    shape = [1] * len(loops)
    for loop in own:
        shape[loops.index(loop)] = len(made[loop])
    return values.reshape(shape)
