# SPDX-License-Identifier: MIT
"""Wrong windows over an image: altered options, at the places the right ones have.

In C a wrong window still fills an output of the right size. So the image is padded, or
cropped, until torch's operator makes as many windows as the right one.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.nn.functional import pad

from grader.diagnosis.mistakes import formulas
from grader.diagnosis.mistakes.mistake import Answers, Formula, Mistake, Setting

Pair = tuple[int, int]
Sides = tuple[int, int, int, int]  # top, bottom, left, right


@dataclass(frozen=True)
class Window:
    """Where windows begin, how they step, and what they see outside of the image."""

    kernel: Pair
    stride: Pair
    padding: Pair
    dilation: Pair
    windows: Pair  # OH, OW
    outside: str = "zeros"  # or memory, replicate, reflect, circular
    hidden: Sides = (0, 0, 0, 0)  # rows and columns of the image read as if outside

    @property
    def options(self) -> dict[str, Any]:
        """For a torch operator that gets an image padded by `padded`."""
        return {"stride": self.stride, "padding": 0, "dilation": self.dilation}


def padded(image: torch.Tensor, window: Window) -> torch.Tensor | None:
    """The image from the first window's corner to the last one's; None: no such image.

    memory: outside of a row lies what the memory holds there: the row before or after.
    """
    if any(window.hidden):
        image = image * _shown(image.shape[-2:], window.hidden)
    edges = []
    for extent, k, s, p, d, count in zip(
        image.shape[-2:],
        window.kernel,
        window.stride,
        window.padding,
        window.dilation,
        window.windows,
    ):
        edges.append((p, (count - 1) * s + d * (k - 1) + 1 - p - extent, extent))
    (top, bottom, IH), (left, right, IW) = edges
    if window.outside == "memory":
        *lead, down, step = image.stride()
        size = [*image.shape[:-2], IH + top + bottom, IW + left + right]
        return formulas.taken_for(
            image, size, image.stride(), -(top * down + left * step)
        )
    reach = {"reflect": (IH - 1, IW - 1), "circular": (IH, IW)}.get(window.outside)
    if reach and (max(top, bottom) > reach[0] or max(left, right) > reach[1]):
        return None
    mode = "constant" if window.outside == "zeros" else window.outside
    return _cropped(image, left, right, top, bottom, mode)


def _cropped(
    image: torch.Tensor, left: int, right: int, top: int, bottom: int, mode: str
) -> torch.Tensor:
    """Pad in a mode that takes no negative widths, then crop."""
    whole = [max(0, w) for w in (left, right, top, bottom)]
    wide = pad(image, whole, mode=mode) if any(whole) else image
    return pad(wide, [min(0, w) for w in (left, right, top, bottom)])


def _shown(size: Sequence[int], hidden: Sides) -> torch.Tensor:
    """1 for what is seen of an image, 0 for the rows and columns that are hidden."""
    top, bottom, left, right = hidden
    down, across = (torch.arange(extent) for extent in size)
    rows = (down >= top) & (down < size[0] - bottom)
    columns = (across >= left) & (across < size[1] - right)
    return (rows[:, None] & columns).double()


# ---- who reads what ------------------------------------------------------------------


def reads(window: Window, size: Sequence[int]) -> torch.Tensor | None:
    """(KH*KW, OH*OW): the element of an image of this size that a place of the kernel
    reads in a window, counted from 1; 0 is outside.
    """
    count = size[0] * size[1]
    image = torch.arange(1, 1 + count, dtype=torch.float64).reshape(1, 1, *size)
    wide = padded(image, window)
    if wide is None:
        return None
    found = torch.nn.functional.unfold(wide, window.kernel, **window.options)
    return found[0].long()


def winners(targets: torch.Tensor, count: int, *, last: bool) -> torch.Tensor:
    """Which write each of `count` elements keeps, the last one or the first, counted
    from 1; 0: none. `targets` says where each write goes, from 1; 0: nowhere.
    """
    rank = torch.arange(1, 1 + targets.numel())
    none = torch.zeros(1 + count, dtype=torch.long)
    kept = "amax" if last else "amin"
    return none.scatter_reduce(0, targets, rank, kept, include_self=False)[1:]


# ---- wrong windows -------------------------------------------------------------------

Alter = Callable[[Window], Window]


def _swap(pair: Pair) -> Pair:
    return pair[1], pair[0]


def _along(old: Pair, new: Pair, axes: str) -> Pair:
    """New values along h, w or both."""
    return (
        new[0] if "h" in axes else old[0],
        new[1] if "w" in axes else old[1],
    )


AXES = ("hw", "h", "w")


def _changed(outside: str, **pairs: Callable[[Pair], Pair]) -> Alter:
    """Some pairs of a window changed, and what is seen outside."""

    def alter(w: Window) -> Window:
        new: dict[str, Any] = {k: change(getattr(w, k)) for k, change in pairs.items()}
        return replace(w, outside=outside, **new)

    return alter


def set_to(value: int, axes: str) -> Callable[[Pair], Pair]:
    """A pair that holds this value along h, w or both."""
    return lambda pair: _along(pair, (value, value), axes)


def _twice(axis: int) -> Callable[[Pair], Pair]:
    return lambda pair: (pair[axis], pair[axis])


def options_swapped() -> Iterator[Alter]:
    """Stride, padding, dilation exchanged between the axes, any of them or all; or one
    axis's taken for both.
    """
    names = ("stride", "padding", "dilation")
    for name, axis, outside in itertools.product(names, (0, 1), ("zeros", "memory")):
        yield _changed(outside, **{name: _twice(axis)})
    for count in (3, 2, 1):
        for some in itertools.combinations(names, count):
            for outside in ("zeros", "memory"):
                yield _changed(outside, **dict.fromkeys(some, _swap))


def padding_ignored() -> Iterator[Alter]:
    """Windows begin at the image's corner."""
    for outside, axes in itertools.product(("zeros", "memory"), AXES):
        yield _changed(outside, padding=set_to(0, axes))


def _border_hidden() -> Iterator[Alter]:
    """A border test that is too strict takes a row or a column for padding."""
    for hidden in (
        *((1, 0, 1, 0), (1, 0, 0, 0), (0, 0, 1, 0)),  # i <= 0
        *((0, 1, 0, 1), (0, 1, 0, 0), (0, 0, 0, 1)),  # i >= I - 1
        (1, 1, 1, 1),
    ):

        def alter(w: Window, h: Sides = hidden) -> Window:
            return replace(w, hidden=h)

        yield alter


def stride_not_tested(windowed: Callable[[Alter], Formula]) -> Formula:
    """A gradient that is gathered: each element takes from the window at its distance
    divided by the stride, also where a rest is left.
    """

    def formula(s: Setting) -> Answers:
        if "grad_input" not in s.truth:
            return {}
        steps = itertools.product(*(range(step) for step in s.options["stride"]))
        total = torch.zeros_like(s.truth["grad_input"])
        for down, across in steps:

            def moved(w: Window, y: int = down, x: int = across) -> Window:
                return replace(w, padding=(w.padding[0] - y, w.padding[1] - x))

            found = (windowed(moved)(s) or {}).get("grad_input")
            if found is None:
                return {"grad_input": None}
            total = total + found
        return {"grad_input": total}

    return formulas.backward_only(formula)


def _padding_not_zero() -> Iterator[Alter]:
    """Outside of the image stands something else than zero."""
    for outside in ("replicate", "reflect", "circular", "memory"):
        yield _changed(outside)


def _stride_ignored() -> Iterator[Alter]:
    """Windows step by one."""
    for outside, axes in itertools.product(("zeros", "memory"), AXES):
        yield _changed(outside, stride=set_to(1, axes))


def _dilation_ignored() -> Iterator[Alter]:
    """The kernel's places lie side by side."""
    for outside, axes in itertools.product(("zeros", "memory"), AXES):
        yield _changed(outside, dilation=set_to(1, axes))


def ignored(windowed: Callable[[Alter], Formula]) -> tuple[Mistake, ...]:
    """What conv2d and unfold alike get wrong; `windowed` makes an operator's formula of
    an altered window.
    """

    def each(alters: Iterator[Alter]) -> Iterator[Formula]:
        return (windowed(alter) for alter in alters)

    return (
        Mistake(
            "padding_ignored",
            "the padding is missing: where does the first window begin?",
            tuple(each(padding_ignored())),
        ),
        Mistake(
            "padding_not_zero",
            "the padding is not zero: it holds the image's edge, mirror image, other "
            "side, or a neighbouring row",
            tuple(each(_padding_not_zero())),
        ),
        Mistake(
            "stride_ignored",
            "windows move by 1: they must move by the stride",
            tuple(each(_stride_ignored())),
        ),
        Mistake(
            "dilation_ignored",
            "kernel positions are 1 apart: they must be dilation apart",
            tuple(each(_dilation_ignored())),
        ),
        Mistake(
            "border_taken_for_padding",
            "a row or column at the border is treated as padding: all i with 0 <= i < "
            "I are inside",
            tuple(each(_border_hidden())),
        ),
        Mistake(
            "stride_not_tested",
            "a pixel gets gradients from windows that do not read it: skip distances "
            "that are not multiples of the stride",
            (stride_not_tested(windowed),),
        ),
    )


def flat_orders(count: int) -> Iterator[Sequence[int]]:
    """Every order of so many axes but the right one."""
    for order in itertools.permutations(range(count)):
        if order != tuple(range(count)):
            yield order
