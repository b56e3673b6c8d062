# SPDX-License-Identifier: MIT
"""Defines a known mistake: a name, a sentence, and the wrong numbers that it causes.

A formula makes the wrong numbers of one case, by PyTorch with altered arguments or
tensors. `formulas.py` has the parts of formulas.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from grader.operators import Operator
from grader.operators.entry import Tensors

Answers = dict[str, torch.Tensor | None]  # by name; None: this cannot be foretold
PAST_THE_END = torch.empty(0)  # of an answer: this is written past its end


@dataclass(frozen=True)
class Setting:
    """The numbers of one case, in double; without `grads` only forward is asked for."""

    operator: Operator
    inputs: Tensors  # with the strides the case gives them
    options: Mapping[str, Any]
    grads: tuple[torch.Tensor, ...]
    truth: Mapping[str, torch.Tensor]  # right answers: output, or grad_input ...
    kept: dict[str, Any] = field(default_factory=dict, init=False, repr=False)
    # what the formulas of this case share

    @property
    def results(self) -> list[str]:
        """What forward gives: output, or new_h and new_c."""
        return [one.name for one in self.operator.signature.outputs]

    @property
    def empty(self) -> bool:
        """Whether some tensor has no elements: then a formula has nothing to say."""
        made = (*self.inputs.values(), *self.grads, *self.truth.values())
        return any(not t.numel() for t in made)

    def input(self, **changed: torch.Tensor) -> Setting:
        """The same with other inputs, those that are present."""
        present = {k: v for k, v in changed.items() if k in self.inputs}
        return replace(self, inputs={**self.inputs, **present})

    def option(self, **changed: Any) -> Setting:
        """The same with other options."""
        return replace(self, options={**self.options, **changed})

    def grad(self, change: Callable[[torch.Tensor], torch.Tensor]) -> Setting:
        """The same with every grad_output changed."""
        return replace(self, grads=tuple(change(g) for g in self.grads))


Formula = Callable[[Setting], Answers | None]


@dataclass(frozen=True, eq=False)
class OfTensor:
    """A formula of one tensor: nobody asks it about another one."""

    tensor: str
    answer: Callable[[Setting], torch.Tensor]

    def __call__(self, setting: Setting) -> Answers:
        """The wrong numbers of the tensor, if the case has it."""
        there = self.tensor in setting.truth
        return {self.tensor: self.answer(setting)} if there else {}


@dataclass(frozen=True)
class Mistake:
    """One known mistake, in all the forms it takes."""

    name: str
    sentence: str  # for the student: what it is, not what to write
    formulas: tuple[Formula, ...] = ()  # none: another sign proves it
    together: bool = False  # all tensors that it changes have to show it


def listed(words: Sequence[str]) -> str:
    """a, b and c"""
    return " and ".join([*([", ".join(words[:-1])] if words[1:] else []), words[-1]])
