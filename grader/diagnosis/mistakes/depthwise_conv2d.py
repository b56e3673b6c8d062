# SPDX-License-Identifier: MIT
"""Known mistakes of depthwise_conv2d: the mistakes of conv2d without groups, and more.

A channel has M = OC/IC filters, which lie side by side.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from grader.diagnosis.mistakes import formulas
from grader.diagnosis.mistakes.conv2d import MISTAKES as OF_CONV2D
from grader.diagnosis.mistakes.convolution import by_filter
from grader.diagnosis.mistakes.mistake import Formula, Mistake, Setting

T = torch.Tensor


def _filters(t: T, s: Setting, axis: int) -> T:
    """The axis of all filters as two: (..., IC, M, ...)."""
    IC = s.inputs["input"].shape[1]
    split: T = t.unflatten(axis, (IC, -1))
    return split


def _alone(t: T, s: Setting, axis: int, *, at: int, fill: float) -> T:
    """A channel's filter `at` alone; what the others have is `fill`."""
    split = _filters(t, s, axis)
    return formulas.alone(split, axis + 1, at, fill).flatten(axis, axis + 1)


# ---- which channel a filter reads ----------------------------------------------------


def _multiplier_index() -> Iterator[Formula]:
    """oc / M is taken for something else; G is IC, of conv2d's words."""
    yield by_filter(lambda oc, ic, OC, _, G: oc % G)
    yield by_filter(lambda oc, ic, OC, _, G: 0 * oc)
    yield by_filter(lambda oc, ic, OC, _, G: oc)
    yield by_filter(lambda oc, ic, OC, _, G: oc // G)
    yield by_filter(lambda oc, ic, OC, _, G: oc % (OC // G))
    yield by_filter(lambda oc, ic, OC, _, G: G - 1 - oc // (OC // G))
    yield from formulas.misread(_dealt)


def _dealt(s: Setting) -> Setting:
    """The filters dealt out to the channels one by one, as cards are."""
    IC = s.inputs["input"].shape[1]
    dealt = s.inputs["weight"].unflatten(0, (-1, IC)).transpose(0, 1)
    return s.input(weight=dealt.flatten(0, 1))


def _on_first_filter(t: T, s: Setting) -> T:
    """The sum over a channel's filters stands at the first; the others stay zero."""
    split = _filters(t, s, 0)
    made = torch.zeros_like(split)
    made[:, 0] = split.sum(1)
    return made.flatten(0, 1)


# ---- filters of a channel beyond the first -------------------------------------------


def _one_for_all(s: Setting, at: int) -> Setting:
    """Every filter of a channel is the channel's filter `at`."""
    split = _filters(s.inputs["weight"], s, 0)
    chosen = split[:, at % split.shape[1]][:, None].expand(split.shape)
    return s.input(weight=chosen.flatten(0, 1))


def _by_channel(s: Setting) -> Setting:
    """The weights of filter ic stand for all filters of channel ic."""
    IC = s.inputs["input"].shape[1]
    M = s.inputs["weight"].shape[0] // IC
    channel = torch.arange(IC * M) // M
    return s.input(weight=s.inputs["weight"][channel])


def _first_filter_only() -> Iterator[Formula]:
    for fill in (formulas.UNWRITTEN, 0.0):
        for name, axis in (("output", 1), ("grad_weight", 0), ("grad_bias", 0)):

            def left(t: T, s: Setting, a: int = axis, f: float = fill) -> T:
                return _alone(t, s, a, at=0, fill=f)

            yield formulas.answered(name, left)
    for at in (0, -1):

        def same(s: Setting, a: int = at) -> Setting:
            return _one_for_all(s, a)

        def grad(s: Setting, a: int = at) -> Setting:
            return s.grad(lambda g: _alone(g, s, 1, at=a, fill=0.0))

        yield from formulas.misread(same)
        yield formulas.only("grad_input", formulas.altered(grad))
        yield formulas.backward_only(formulas.altered(grad))
    yield from formulas.misread(_by_channel)


# ---- the list ------------------------------------------------------------------------

MISTAKES = (
    Mistake(
        "multiplier_index",
        "filters read the wrong channel: the OC/IC filters of one channel follow one "
        "another",
        tuple(_multiplier_index()),
    ),
    Mistake(
        "first_filter_only",
        "only one of the filters of a channel is used: with OC = 2*IC each channel has "
        "two, and two outputs",
        tuple(_first_filter_only()),
    ),
    Mistake(
        "gradients_on_first_filter",
        "the gradients of all filters of a channel are added to its first filter: "
        "each filter has its own gradient",
        (
            formulas.answered("grad_weight", _on_first_filter),
            formulas.answered("grad_bias", _on_first_filter),
        ),
    ),
    *(mistake for mistake in OF_CONV2D if mistake.name != "groups_ignored"),
)
