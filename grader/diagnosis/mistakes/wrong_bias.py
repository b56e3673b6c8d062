# SPDX-License-Identifier: MIT
"""A bias at a wrong index, and averages in place of sums: of conv2d, depthwise_conv2d
and linear.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch

from grader.diagnosis.mistakes import formulas
from grader.diagnosis.mistakes.mistake import Formula, Mistake, Setting

T = torch.Tensor
Index = Callable[[Setting, list[T]], T]  # of the case, and of the output's own indices
SENTENCE = "the bias is used at a wrong index: output channel oc needs element oc"


def averages(of: Callable[[str], Iterable[Formula]], over: str) -> Iterable[Mistake]:
    """The gradients of bias and weight divided by what was summed `over`. `of` makes
    the formulas of one gradient.
    """
    yield Mistake(
        "bias_averaged", "a sum is needed, not an average", tuple(of("grad_bias"))
    )
    yield Mistake(
        "weight_gradient_averaged",
        f"a sum over {over} is needed, not an average",
        tuple(of("grad_weight")),
    )


def bias_index(
    indices: Iterable[Index], channel: int, seen: Callable[[T], T] = lambda t: t
) -> Mistake:
    """Each index in the bias' place, forward and backward; `seen` is the output as
    people index it, `channel` its axis of channels.
    """
    made: list[Formula] = []
    for index in indices:

        def output(t: T, s: Setting, at: Index = index) -> T:
            bias = s.inputs.get("bias")
            if bias is None or not t.numel():
                return t
            axes = _axes(seen(t))
            place = at(s, axes)
            inside = (place >= 0) & (place < len(bias))
            taken = bias[place.clamp(0, len(bias) - 1)]
            read = torch.where(inside, taken, formulas.UNKNOWN)
            return (seen(t) - bias[axes[channel]] + read).reshape(t.shape)

        def gradient(t: T, s: Setting, at: Index = index) -> T:
            grad = seen(s.grads[0])
            if not grad.numel():
                return t
            place = at(s, _axes(grad)).flatten()
            inside = (place >= 0) & (place < len(t))
            sums = torch.zeros_like(t)
            return sums.index_add(0, place[inside], grad.flatten()[inside])

        made += [
            formulas.answered("output", output),
            formulas.answered("grad_bias", gradient),
        ]
    return Mistake("bias_index", SENTENCE, tuple(made))


def _axes(t: T) -> list[T]:
    """The index of every element along each axis."""
    return list(torch.meshgrid(*(torch.arange(n) for n in t.shape), indexing="ij"))
