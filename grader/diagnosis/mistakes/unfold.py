# SPDX-License-Identifier: MIT
"""Known mistakes of unfold."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

import torch

from grader.diagnosis.mistakes import formulas, wrong_windows
from grader.diagnosis.mistakes.mistake import (
    PAST_THE_END,
    Answers,
    Formula,
    Mistake,
    Setting,
)
from grader.diagnosis.mistakes.strides import strides_ignored
from grader.diagnosis.mistakes.wrong_windows import Alter, Window, padded
from grader.operators.entry import Tensors

T = torch.Tensor


def window(s: Setting) -> Window:
    """The window of a case; unfold's columns are counted by an image of zeros."""
    o = s.options
    extents = s.inputs["input"].shape[2:]
    counts = [
        torch.nn.functional.unfold(
            torch.zeros(1, 1, *(extent, 1)[::step], dtype=torch.float64),
            *((k, 1)[::step], (d, 1)[::step], (p, 0)[::step], (n, 1)[::step]),
        ).shape[-1]
        for step, extent, k, d, p, n in zip(
            (1, -1),
            extents,
            o["kernel_size"],
            o["dilation"],
            o["padding"],
            o["stride"],
        )
    ]
    return Window(
        o["kernel_size"],
        o["stride"],
        o["padding"],
        o["dilation"],
        (counts[0], counts[1]),
    )


def slide(s: Setting, inputs: Tensors, w: Window) -> T | None:
    """torch's unfold with these windows."""
    image = padded(inputs["input"], w)
    if image is None:
        return None
    made: T = torch.nn.functional.unfold(
        image.contiguous(), kernel_size=w.kernel, **w.options
    )
    return made


def windowed(alter: Alter) -> Formula:
    """An unfold whose window is altered; backward its derivative."""
    return formulas.through(lambda s, inputs: slide(s, inputs, alter(window(s))))


# ---- order ---------------------------------------------------------------------------


def _reordered(rows: tuple[int, ...], columns: tuple[int, ...]) -> Formula:
    """Rows (ic, kh, kw) and columns (oh, ow) with their parts in other orders."""

    def forward(s: Setting, inputs: Tensors) -> T | None:
        w = window(s)
        right = slide(s, inputs, w)
        if right is None or not right.numel():
            return right
        N, IC = inputs["input"].shape[:2]
        parts = right.reshape(N, IC, *w.kernel, *w.windows)
        order = (0, *(1 + i for i in rows), *(4 + i for i in columns))
        return parts.permute(order).reshape(right.shape)

    return formulas.through(forward)


def _transposed(s: Setting, inputs: Tensors) -> T | None:
    """Windows as rows: the whole matrix transposed in memory."""
    right = slide(s, inputs, window(s))
    return None if right is None else right.mT.reshape(right.shape)


def _orders() -> Iterator[Formula]:
    for rows in itertools.permutations(range(3)):
        for columns in ((0, 1), (1, 0)):
            if (rows, columns) != ((0, 1, 2), (0, 1)):
                yield _reordered(rows, columns)
    yield formulas.through(_transposed)


def _axes_exchanged() -> Iterator[Formula]:
    yield from map(windowed, wrong_windows.options_swapped())
    for flat in (True, False):

        def image(s: Setting, f: bool = flat) -> Setting:
            return s.input(input=formulas.swapped(s.inputs["input"], flat=f))

        yield formulas.forward_only(formulas.altered(image))
    yield formulas.backward_only(_image_turned)


def _image_turned(s: Setting) -> Answers:
    right = s.truth["grad_input"]
    return {"grad_input": right.mT.reshape(right.shape)}


def _kernel_swapped() -> Iterator[Formula]:
    """KH and KW exchanged in the loops."""
    for outside in ("zeros", "memory"):

        def turned(w: Window, o: str = outside) -> Window:
            return replace(w, kernel=(w.kernel[1], w.kernel[0]), outside=o)

        yield windowed(turned)


def _padding_not_written(s: Setting) -> Answers:
    """Only what lies inside of the image is copied."""
    ones = {"input": torch.ones_like(s.inputs["input"])}
    inside = slide(s, ones, window(s))
    assert inside is not None
    output = s.truth["output"]
    return {"output": torch.where(inside > 0, output, formulas.UNWRITTEN)}


# ---- how many windows ----------------------------------------------------------------


def _miscounted(name: str, value: int, axes: str) -> Formula:
    """Windows are as many as they would be with this value of an option; each is the
    right one, and stands where it would stand then.
    """

    def formula(s: Setting) -> Answers:
        instead = wrong_windows.set_to(value, axes)(s.options[name])
        counted = window(s.option(**{name: instead})).windows
        found = slide(s, s.inputs, replace(window(s), windows=counted))
        assert found is not None
        more = s.truth["output"].shape[-1] - found.shape[-1]
        if more < 0:
            return {"output": PAST_THE_END}
        fill = formulas.UNWRITTEN
        return {"output": torch.nn.functional.pad(found, (0, more), value=fill)}

    return formulas.forward_only(formula)


def _miscounts() -> Iterator[Mistake]:
    for name, value in (("dilation", 1), ("stride", 1), ("padding", 0)):
        yield Mistake(
            "windows_miscounted",
            f"the windows are counted without the {name}, so their number is wrong",
            tuple(_miscounted(name, value, axes) for axes in wrong_windows.AXES),
        )


# ---- overlap -------------------------------------------------------------------------


def _one_writer(*, last: bool, by_window: bool, fill: float) -> Formula:
    """Each element of the image keeps what a single window wrote, the last or first."""

    def formula(s: Setting) -> Answers:
        image = torch.arange(1, 1 + s.inputs["input"][0].numel(), dtype=torch.float64)
        index = slide(s, {"input": image.reshape_as(s.inputs["input"][:1])}, window(s))
        assert index is not None
        grad = s.grads[0]
        if by_window:  # all of a window's places before the next window's
            index, grad = index.mT, grad.mT
        targets = index.flatten().long()  # 0: outside of the image
        winner = wrong_windows.winners(targets, image.numel(), last=last)
        flat = torch.nn.functional.pad(grad.flatten(1), (1, 0), value=fill)
        return {"grad_input": flat[:, winner].reshape(s.inputs["input"].shape)}

    def guarded(s: Setting) -> Answers:
        return formula(s) if len(s.inputs["input"]) else {}

    return formulas.backward_only(guarded)


def _overlap() -> Iterator[Formula]:
    for last, by_window, fill in itertools.product(
        (True, False), (True, False), (0.0, formulas.UNWRITTEN)
    ):
        yield _one_writer(last=last, by_window=by_window, fill=fill)


MISTAKES = (
    Mistake(
        "hw_swapped",
        "height and width are exchanged somewhere: h comes first in every pair and "
        "every shape",
        (*_axes_exchanged(), *_kernel_swapped()),
    ),
    Mistake(
        "order_swapped",
        "the axes are in the wrong order. Rows are (ic, kh, kw), columns are (oh, "
        "ow), and the last index changes fastest",
        tuple(_orders()),
    ),
    *wrong_windows.ignored(windowed),
    Mistake(
        "padding_not_written",
        "the elements of the padding are not written. Write these zeros too: before "
        "you write an output, its contents are undefined",
        (formulas.forward_only(_padding_not_written),),
    ),
    *_miscounts(),
    Mistake(
        "overlap_overwritten",
        "where windows overlap, only one of them counts: a pixel gets the sum over "
        "all windows that read it",
        tuple(_overlap()),
    ),
    strides_ignored("input"),
)
