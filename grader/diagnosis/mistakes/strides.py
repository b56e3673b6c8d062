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


def _last_axis_dense(tensor: torch.Tensor) -> torch.Tensor:
    """The last axis taken for dense, the others by their strides."""
    if not tensor.dim():
        return tensor
    return formulas.taken_for(tensor, tensor.shape, [*tensor.stride()[:-1], 1])


def _first_axis_dense(tensor: torch.Tensor) -> torch.Tensor:
    """The step along the first axis taken from the sizes, the others by strides."""
    if tensor.dim() < 2:
        return tensor
    first = formulas.row_major(tensor.shape)[0]
    return formulas.taken_for(tensor, tensor.shape, [first, *tensor.stride()[1:]])


def _matrix_by_strides(tensor: torch.Tensor) -> torch.Tensor:
    """The last two axes by their strides, all in front of them taken from the sizes."""
    if tensor.dim() < 3:
        return tensor
    front = formulas.row_major(tensor.shape)[:-2]
    return formulas.taken_for(tensor, tensor.shape, [*front, *tensor.stride()[-2:]])


def _matrix_dense(tensor: torch.Tensor) -> torch.Tensor:
    """The last two axes taken for dense, all in front of them by their strides."""
    if tensor.dim() < 2:
        return tensor
    matrix = formulas.row_major(tensor.shape)[-2:]
    return formulas.taken_for(tensor, tensor.shape, [*tensor.stride()[:-2], *matrix])


def _broadcast_kept(tensor: torch.Tensor) -> torch.Tensor:
    """Strides taken from the sizes where they are not 0."""
    steps = formulas.row_major(tensor.shape)
    kept = [step if s else 0 for step, s in zip(steps, tensor.stride())]
    return formulas.taken_for(tensor, tensor.shape, kept)


VIEWS = (
    _broadcast_kept,
    formulas.as_if_contiguous,
    _last_axis_dense,
    _first_axis_dense,
    _matrix_by_strides,
    _matrix_dense,
)


def _reading(
    names: tuple[str, ...],
    view: Callable[[torch.Tensor], torch.Tensor],
    *,
    whole: bool = False,
) -> Formula:
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
        wrong = setting.input(**{n: view(setting.inputs[n]) for n in strided})
        if grad:
            wrong = wrong.grad(view)
        return formulas.through(formulas.references)(wrong)

    return formula


def strides_ignored(*names: str) -> Mistake:
    """The mistake for an operator with these inputs; grad_output is added."""
    everything = (*names, "grad_output")
    wrong = [
        _reading(some, view)
        for view in VIEWS
        for count in range(len(everything), 0, -1)
        for some in itertools.combinations(everything, count)
    ]
    wrong.append(_reading(everything, formulas.as_if_contiguous, whole=True))
    return Mistake("strides_ignored", SENTENCE, tuple(wrong))
