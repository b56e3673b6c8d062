# SPDX-License-Identifier: MIT
"""Compares one output with the double reference, and finds unwritten memory by poison.

The tolerance of an element is C * sqrt(K) * u * scale. Here u is the rounding unit of
the dtype, and K is the number of terms of the sum. scale is the sum of their absolute
values. This is the standard model of floating-point error (Higham, Accuracy and
Stability of Numerical Algorithms, section 3.1). It has sqrt(K) in place of K, because
rounding errors have both signs. If terms were rounded before they are added (TF32), the
tolerance has another part: precision.py. Products below the smallest number of the
dtype are rounded to a multiple of it.

If the reference is NaN or infinity, the result must be the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

from grader.checks.check_result import Finding
from grader.runner.supervisor.call import Call
from grader.runner.supervisor.wire import (
    SIDE_TENSORS,
    TAG_OUTSIDE,
    TAG_SCRATCH,
    TAG_UNWRITTEN,
)
from grader.verdicts import Verdict

HALVES = {  # unit, and half the distance of the smallest numbers
    torch.float16: (2.0**-11, 2.0**-25),
    torch.bfloat16: (2.0**-8, 2.0**-134),
}
C = 4.0  # right code of labs 01 and 02 uses 0.73 of it at most, in 200 seeds
UNIT = {torch.float32: 2.0**-24, torch.float64: 2.0**-53}
SMALLEST = {torch.float32: 2.0**-149, torch.float64: 2.0**-1074}


@dataclass(frozen=True)
class Expected:
    """What an output should hold."""

    name: str
    value: torch.Tensor  # double, or integers
    scale: torch.Tensor | None = None  # sum of absolute terms; None: must be equal
    terms: int = 1
    valid: torch.Tensor | None = None  # False where any value will do
    rounded: float = 0.0  # how far off each term is before it is added, relatively
    loose: Callable[[torch.dtype], Expected] | None = (
        None  # if they differ: precision.py
    )

    def settled(self, got: torch.Tensor) -> Expected:
        """With the tolerance that holds for these numbers."""
        if self.loose is None or not bool(_differs(got, self).any()):
            return self
        return self.loose(got.dtype)


def tolerance(expected: Expected, dtype: torch.dtype) -> torch.Tensor:
    """How far each element may be from the expected value.

    In 16 bits a sum is that of float, and rounded once when it is stored.
    """
    if expected.scale is not None and dtype in HALVES:
        unit, least = HALVES[dtype]
        in_float = tolerance(expected, torch.float32)
        stored = unit * (expected.value.abs() + in_float)
        return in_float + stored.clamp(min=least)
    if expected.scale is None or dtype not in UNIT:
        return torch.zeros(expected.value.shape, dtype=torch.float64)
    terms = max(1, expected.terms)
    summing = C * math.sqrt(terms) * UNIT[dtype]
    relative = expected.rounded + (1 + expected.rounded) * summing
    return relative * expected.scale + terms * SMALLEST[dtype]


def position(index: int, shape: torch.Size) -> str:
    """A flat index as people write it: [0, 2, 1]; nothing for a single number."""
    if not shape:
        return ""
    numbers = [int(i) for i in torch.unravel_index(torch.tensor(index), shape)]
    return str(numbers)


def judge(
    call: Call,
    i: int,
    expected: Expected,
    *,
    names: list[str],
    wrong: Verdict = Verdict.WRONG_VALUE,
) -> Finding | None:
    """Look at output `i` of a call that has returned. None if all is well.

    `names` are the tensors of the call by position, inputs first; `wrong` is the
    verdict for a wrong number.
    """
    got = call.tensors[i]
    assert got is not None
    found = call.request.side[SIDE_TENSORS + i]
    if found.fence:
        return Finding(
            Verdict.MEMORY_ERROR,
            f"writes {found.fence} bytes before the start of '{expected.name}'",
        )
    expected = expected.settled(got)
    differs = _differs(got, expected)
    counted = expected.valid is not None and not got.dtype.is_floating_point
    if counted and found.unwritten:
        missing = _untouched(got, expected, i)
        found.unwritten = int(missing.sum())
        found.first_unwritten = int(missing.flatten().int().argmax())
    if found.unwritten:
        where = position(found.first_unwritten, got.shape)
        return Finding(
            Verdict.INCOMPLETE,
            f"{found.unwritten} of {got.numel()} elements of '{expected.name}' were "
            f"never written, the first is {where or 'the only one'}",
        )
    if found.tainted and bool(differs.any()):
        return _tainted(call, i, expected, names, wrong)
    if bool(differs.any()):
        return Finding(wrong, _sentence(got, expected, differs))
    return None


def mismatch(got: torch.Tensor, expected: Expected) -> str | None:
    """What is wrong with a tensor in our own memory, where nothing is poisoned."""
    expected = expected.settled(got)
    differs = _differs(got, expected)
    return _sentence(got, expected, differs) if bool(differs.any()) else None


def _untouched(got: torch.Tensor, expected: Expected, i: int) -> torch.Tensor:
    """Elements of integers that still hold their poison where a value is expected."""
    poison = 0x5A5A0000 if got.dtype == torch.int32 else 0x5A5A5A5A5A5A0000
    same = got == poison + TAG_UNWRITTEN + SIDE_TENSORS + i
    return same if expected.valid is None else same & expected.valid


def _differs(got: torch.Tensor, expected: Expected) -> torch.Tensor:
    """Where a value is wrong. NaN and infinity are wrong unless they are expected."""
    value = expected.value
    if not got.dtype.is_floating_point:
        wrong = got.long() != value.long()
    else:
        error = (got.double() - value).abs()
        near = (error <= tolerance(expected, got.dtype)) & value.isfinite()
        wrong = ~(near | (got == value) | (got.isnan() & value.isnan()))
    return wrong if expected.valid is None else wrong & expected.valid


def wrong_elements(got: torch.Tensor, expected: Expected) -> torch.Tensor:
    """A mask of the elements that `judge` calls wrong."""
    return _differs(got, expected.settled(got))


def _sentence(got: torch.Tensor, expected: Expected, differs: torch.Tensor) -> str:
    """Which element, what came, what was expected, how many."""
    first = int(differs.flatten().nonzero()[0])
    value = got.flatten()[first].item()
    right = expected.value.flatten()[first].item()
    digits = ".9g" if got.dtype == torch.float32 else ".17g"
    count = int(differs.sum())
    text = (
        f"'{expected.name}'{position(first, got.shape)} is {value:{digits}}, expected "
        f"{right:{digits}}; {count} of {got.numel()} elements are wrong"
    )
    rounds = got.dtype.is_floating_point and math.isfinite(right)
    if rounds and expected.scale is not None:
        allowed = tolerance(expected, got.dtype).flatten()[first].item()
        text += f" (allowed difference here {allowed:.1e})"
    return text


def _tainted(
    call: Call, i: int, expected: Expected, names: list[str], wrong: Verdict
) -> Finding:
    """A result was computed from memory that holds poison: whose?"""
    found = call.request.side[SIDE_TENSORS + i]
    owner, tag = found.taint & 0xFFF, found.taint & 0xF000
    where = position(found.first_tainted, expected.value.shape)
    result = f"'{expected.name}'{where}"
    if tag == TAG_UNWRITTEN:
        return Finding(
            wrong,
            f"{result} was added to memory that was never set to zero: before you "
            "write an output, its contents are undefined",
        )
    if tag == TAG_SCRATCH:
        return Finding(
            wrong, f"{result} was computed from scratch memory that was never written"
        )
    if tag == TAG_OUTSIDE and owner < len(names):
        source = call.request.side[owner]
        sizes = list(source.size[: source.ndim])
        strides = list(source.stride[: source.ndim])
        last = sum((s - 1) * t for s, t in zip(sizes, strides)) + 1
        if last != math.prod(sizes):
            return Finding(
                wrong,
                f"{result} was computed from memory between the elements of "
                f"'{names[owner]}': its strides are {strides} for sizes {sizes}",
            )
        return Finding(
            Verdict.MEMORY_ERROR,
            f"{result} was computed from memory before the start of '{names[owner]}'",
        )
    return Finding(wrong, f"{result} was computed from memory that was never written")
