# SPDX-License-Identifier: MIT
"""A mistake of every operator: memory read as if it were contiguous."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import torch

from grader.diagnosis.mistakes import formulas
from grader.diagnosis.mistakes.mistake import Answers, Formula, Mistake, Setting

SENTENCE = (
    "memory is read as if it were contiguous, but inputs can be views: use their "
    "strides"
)


#: which strides the code uses, by those from the sizes and those of the tensor
VIEWS: tuple[Callable[[list[int], list[int]], list[int]], ...] = (
    lambda dense, own: [step if s else 0 for step, s in zip(dense, own)],
    lambda dense, own: dense,
    lambda dense, own: own[:-1] + dense[-1:],
    lambda dense, own: dense[:1] + own[1:],
    lambda dense, own: dense[:-2] + own[-2:],
    lambda dense, own: own[:-2] + dense[-2:],
)


DENSE = 1  # of VIEWS


def _seen(tensor: torch.Tensor, view: int) -> torch.Tensor:
    """The tensor as it is read with the strides of a view."""
    steps = VIEWS[view](formulas.row_major(tensor.shape), list(tensor.stride()))
    return formulas.taken_for(tensor, tensor.shape, steps)


def _reading(names: tuple[str, ...], view: int, *, whole: bool = False) -> Formula:
    """These inputs seen so; `whole`: only those of the output's shape."""

    def formula(setting: Setting) -> Answers | None:
        made = setting.grads[0] if setting.grads else setting.truth[setting.results[0]]
        strided = [
            name
            for name in names
            if name in setting.inputs
            and not setting.inputs[name].is_contiguous()
            and not (whole and setting.inputs[name].shape != made.shape)
        ]
        grad = "grad_output" in names
        grad &= any(not g.is_contiguous() for g in setting.grads)
        if not strided and not grad:
            return {}
        wrong = setting.input(**{n: _seen(setting.inputs[n], view) for n in strided})
        if grad:
            wrong = wrong.grad(lambda t: _seen(t, view))
        return formulas.through(formulas.references)(wrong)

    return formula


def strides_ignored(*names: str) -> Mistake:
    """The mistake for an operator with these inputs; grad_output is added."""
    everything = (*names, "grad_output")
    wrong = [
        _reading(some, view)
        for view in range(len(VIEWS))
        for count in range(len(everything), 0, -1)
        for some in itertools.combinations(everything, count)
    ]
    wrong.append(_reading(everything, DENSE, whole=True))
    return Mistake("strides_ignored", SENTENCE, tuple(wrong))
