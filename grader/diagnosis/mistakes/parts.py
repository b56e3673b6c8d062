# SPDX-License-Identifier: MIT
"""Convolutions that leave a part out: samples of the batch, the last tile."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from grader.diagnosis.mistakes import formulas
from grader.diagnosis.mistakes.convolution import groups_of
from grader.diagnosis.mistakes.mistake import Formula, Setting

T = torch.Tensor
SAMPLES, CHANNELS, ROWS, COLUMNS = 0, 1, 2, 3


# ---- batch ---------------------------------------------------------------------------


def batch_ignored(*names: str) -> Iterator[Formula]:
    """The first or the last sample stands for all, or is the only one."""
    for name in names:
        for at in (0, -1):
            for fill in (formulas.UNWRITTEN, 0.0):

                def left(t: T, _: Setting, a: int = at, f: float = fill) -> T:
                    return formulas.alone(t, SAMPLES, a, f)

                yield formulas.answered(name, left)
    for at in (0, -1):

        def image(s: Setting, a: int = at) -> Setting:
            return s.input(input=_repeated(s.inputs["input"], a))

        def grad(s: Setting, a: int = at) -> Setting:
            return s.grad(lambda g: _repeated(g, a))

        def alone(s: Setting, a: int = at) -> Setting:
            return s.grad(lambda g: formulas.alone(g, SAMPLES, a))

        def both(s: Setting, a: int = at) -> Setting:
            return s.input(input=_repeated(s.inputs["input"], a)).grad(
                lambda g: _repeated(g, a)
            )

        yield formulas.altered(image)
        yield formulas.backward_only(formulas.altered(grad))
        yield formulas.backward_only(formulas.altered(both))
        for name in ("grad_weight", "grad_bias"):
            yield formulas.only(name, formulas.altered(alone))


def _repeated(t: T, at: int) -> T:
    return t[at:][:1].expand(t.shape)


# ---- tiles ---------------------------------------------------------------------------


def _bias_left(axes: list[int], tile: int) -> Formula:
    """The output's tail holds the bias alone."""

    def change(t: T, s: Setting) -> T | None:
        if "bias" not in s.inputs:
            return formulas.forget(t, axes, tile, 0.0)
        return formulas.forget(t, axes, tile, s.inputs["bias"].reshape(-1, 1, 1))

    return formulas.answered("output", change)


def _in_group(t: T, groups: int, tile: int) -> T:
    """The last filters of each group zeroed."""
    split = t.unflatten(1, (groups, -1))
    return formulas.forget(split, [2], tile, 0.0).flatten(1, 2)


def _short_sums() -> Iterator[Formula]:
    """Sums that end before their last terms."""
    for tile in formulas.TILES:
        for axis in (1, 2, 3):

            def weight(s: Setting, a: int = axis, t: int = tile) -> Setting:
                return s.input(weight=formulas.forget(s.inputs["weight"], [a], t, 0.0))

            yield from formulas.misread(weight)

        def product(s: Setting, t: int = tile) -> Setting:
            return s.input(weight=formulas.forget_flat(s.inputs["weight"], 1, t, 0.0))

        yield formulas.forward_only(formulas.altered(product))
        for axis in (ROWS, COLUMNS):

            def image(s: Setting, a: int = axis, t: int = tile) -> Setting:
                return s.input(input=formulas.forget(s.inputs["input"], [a], t, 0.0))

            yield from formulas.misread(image, "grad_weight")
        for axis in (SAMPLES, CHANNELS, ROWS, COLUMNS):

            def grad(s: Setting, a: int = axis, t: int = tile) -> Setting:
                return s.grad(lambda g: formulas.forget(g, [a], t, 0.0))

            yield formulas.backward_only(formulas.altered(grad))

        def pixels(s: Setting, t: int = tile) -> Setting:
            return s.grad(lambda g: formulas.forget_flat(g, ROWS, t, 0.0))

        def filters(s: Setting, t: int = tile) -> Setting:
            return s.grad(lambda g: _in_group(g, groups_of(s), t))

        yield formulas.backward_only(formulas.altered(pixels))
        yield formulas.only("grad_input", formulas.altered(filters))


def last_tile() -> Iterator[Formula]:
    """Results and sums that end before their last terms."""
    sides = [[1], [2], [3], [2, 3], [1, 3], [1, 2, 3]]
    yield from formulas.tails("output", [*sides, [0]], [0, 1, 2])
    yield from (_bias_left(a, tile) for a in sides for tile in formulas.TILES)
    yield from formulas.tails("grad_input", [*sides, [0]], [0, 2])
    yield from formulas.tails("grad_weight", [*sides, [0]], [0, 1, 2])
    yield from formulas.tails("grad_bias", [[0]], [])
    yield from _short_sums()
