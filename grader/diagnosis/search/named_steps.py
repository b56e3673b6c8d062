# SPDX-License-Identifier: MIT
"""Writes operators as named steps in which one use of a value can be changed.

    "rstd": "rsqrt(variance + eps)"

A change says what a step uses in place of a name. It is another name, a number, or a
formula like "2*eps". A function has a name, too: tanh can stand in place of sigmoid.
The formulas are from common/operators.h. Backward runs the steps of forward first. If
operators.h has no formulas of backward, autograd differentiates the steps of forward.
Then a change can be in the gradient alone. `as_if(i, 2*i)` has the numbers of i and the
gradient of 2*i. A change in "backward of i" leaves the numbers of the step i right.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from types import CodeType
from typing import Any

import torch

from grader.diagnosis.mistakes.formulas import alone
from grader.diagnosis.mistakes.mistake import Setting

T = torch.Tensor
Place = tuple[str, str]  # a step, and a name that it uses
Changes = Mapping[Place, str]
Values = Mapping[str, Any]  # by name
Steps = dict[str, str]  # the name of a step, and its formula


class Impossible(Exception):
    """A change makes no sense for these shapes."""


# ---- the operators -------------------------------------------------------------------

NORM = {
    "mean": "total(input) / D",
    "centred": "input - mean",
    "variance": "total(centred**2) / D",
    "rstd": "rsqrt(variance + eps)",
    "xhat": "centred * rstd",
    "output": "xhat * weight + bias",
}
NORM_BACKWARD = {
    "xhat": "centred * rstd",
    "dx": "grad_output * weight",
    "average_dx": "total(dx) / D",
    "average_dx_xhat": "total(dx * xhat) / D",
    "grad_input": "rstd * (dx - average_dx - xhat * average_dx_xhat)",
    "grad_weight": "over_rows(grad_output * xhat)",
    "grad_bias": "over_rows(grad_output)",
}
CELL = {
    "joined": "side_by_side(h, input)",
    "preact": "joined @ transposed(weight) + bias",
    "blocks": "preact",
    "preact_i": "first_block(blocks)",
    "preact_o": "second_block(blocks)",
    "preact_g": "third_block(blocks)",
    "i": "sigmoid(preact_i)",
    "o": "sigmoid(preact_o)",
    "g": "elu(preact_g)",
    "gates": "side_by_side(i, o, g)",
    "new_c": "c + g * i",
    "squashed": "tanh(new_c)",
    "new_h": "squashed * o",
}
CELL_BACKWARD = {"backward": "grad_new_h * new_h + grad_new_c * new_c"}
GELU = {
    "none": {"argument": "input / root_2", "squashed": "erf(argument)"},
    "tanh": {
        "cube": "input**3",
        "argument": "scale * (input + cubic * cube)",
        "squashed": "tanh(argument)",
    },
}
OF_INPUT = {"share": "(one + squashed) / two", "output": "input * share"}
SUM = {"output": "input + alpha * other"}
SUM_BACKWARD = {
    "terms": "alpha * grad_output",
    "grad_input": "sum_of_1(sum_of_new(grad_output, input), input)",
    "grad_other": "sum_of_1(sum_of_new(terms, other), other)",
}
PROGRAMS: dict[str, dict[str, tuple[Steps, Steps]]] = {  # by option: forward, backward
    "layer_norm": {"": (NORM, NORM_BACKWARD)},
    "lltm": {"": (CELL, CELL_BACKWARD)},
    "gelu": {
        form: ({**first, **OF_INPUT}, {"backward": "grad_output * output"})
        for form, first in GELU.items()
    },
    "add": {"": (SUM, SUM_BACKWARD)},
}


# ---- values --------------------------------------------------------------------------


REDUCTIONS: dict[str, Callable[[T, int], T]] = {  # of one axis
    "sum": lambda t, axis: t.sum(axis, keepdim=True),
    "mean": lambda t, axis: t.mean(axis, keepdim=True),
    "first": lambda t, axis: t.narrow(axis, 0, 1),
    "last": lambda t, axis: t.narrow(axis, t.shape[axis] - 1, 1),
}


def _stretched(t: T, operand: T, *, how: str, new: bool) -> T:
    """A reduction of the axes that an operand lacks, or of those of size 1."""
    lacks = t.dim() - operand.dim()
    ones = (d + lacks for d, size in enumerate(operand.shape) if size == 1)
    for axis in range(lacks) if new else ones:
        t = REDUCTIONS[how](t, axis)
    return t


def fixed(value: T | float) -> T:
    """A value without a gradient."""
    return torch.as_tensor(value, dtype=torch.float64).detach()


def as_if(value: T | float, other: T | float) -> T:
    """The numbers of `value`, with the gradient of `other`."""
    return fixed(value) + (other - fixed(other))


#: functions that are taken for each other
KINDS: tuple[dict[str, Callable[..., T]], ...] = (
    {
        **{name: getattr(torch, name) for name in ("sigmoid", "tanh", "relu", "exp")},
        **{"elu": torch.nn.functional.elu, "erf": torch.erf, "same": lambda t: t},
    },
    {
        f"{name}_block": partial(lambda t, at: t.chunk(3, 1)[at], at=at)
        for at, name in enumerate(("first", "second", "third"))
    },
    {how + "_of_new": partial(_stretched, how=how, new=True) for how in REDUCTIONS},
    {how + "_of_1": partial(_stretched, how=how, new=False) for how in REDUCTIONS},
)
#: what somebody makes of a matrix
OF_MATRIX: dict[str, Callable[[T], T]] = {
    "first_row_everywhere": lambda t: t[0].expand(t.shape),
    "last_row_everywhere": lambda t: t[-1].expand(t.shape),
    "only_first_row": lambda t: alone(t, 0, 0),
    "only_last_row": lambda t: alone(t, 0, -1),
    "without_first_column": lambda t: t - alone(t, 1, 0),
    "without_last_column": lambda t: t - alone(t, 1, -1),
    "interleaved": lambda t: t.unflatten(1, (-1, 3)).mT.flatten(1),
}
FUNCTIONS: dict[str, Callable[..., T]] = {
    **{name: function for kind in KINDS for name, function in kind.items()},
    **OF_MATRIX,
    "sqrt": torch.sqrt,
    "rsqrt": torch.rsqrt,
    "total": lambda t: t.sum(1, keepdim=True),
    "over_rows": lambda t: t.sum(0),
    "transposed": lambda t: t.mT,
    "side_by_side": lambda *t: torch.cat(t, 1),
    **{"fixed": fixed, "as_if": as_if},
}
CONSTANTS = {
    **{"one": 1.0, "two": 2.0, "cubic": 0.044715},
    **{"root_2": math.sqrt(2), "scale": math.sqrt(2 / math.pi)},
}
OF_ROWS = ("input", "grad_output")  # of layer_norm, (..., D)
BACKWARD = "backward of "  # a change in the gradient of a step that is itself right


BUILTINS: dict[str, Any] = {"__builtins__": {}}  # a formula can use none


def _number(value: float) -> T:
    return torch.tensor(float(value), dtype=torch.float64)


def form_of(s: Setting) -> str:
    """The option that chooses which steps an operator has."""
    return str(s.options.get("approximate", ""))


def steps_of(s: Setting) -> Steps:
    """The steps of an operator in a case."""
    forward, backward = PROGRAMS[s.operator.name][form_of(s)]
    return {**forward, **backward} if s.grads else forward


def by_autograd(s: Setting) -> bool:
    """Whether backward has no formulas: its only step is a sum to differentiate."""
    return "backward" in steps_of(s)


def given(s: Setting) -> dict[str, Any]:
    """All that the first step may use."""
    made: dict[str, Any] = {name: _number(value) for name, value in CONSTANTS.items()}
    made |= FUNCTIONS
    made |= {n: t.detach().requires_grad_(by_autograd(s)) for n, t in s.inputs.items()}
    made |= {f"grad_{name}": grad for name, grad in zip(s.results, s.grads)}
    made |= {k: _number(v) for k, v in s.options.items() if isinstance(v, float | int)}
    if s.operator.name == "lltm":
        N, H = s.inputs["h"].shape
        made |= {"N": _number(N), "H": _number(H)}
    if s.operator.name == "layer_norm":
        N, D = s.inputs["input"].shape[0], s.inputs["input"].shape[-1]
        made |= {n: t.reshape(-1, D) for n, t in made.items() if n in OF_ROWS}
        made |= {"N": _number(N), "D": _number(D), "R": _number(len(made["input"]))}
        made.setdefault("weight", torch.ones(D, dtype=torch.float64))
        made.setdefault("bias", torch.zeros(D, dtype=torch.float64))
    return made


# ---- running -------------------------------------------------------------------------


@cache
def code(formula: str) -> CodeType:
    """A formula, compiled; `co_names` are the names that it uses."""
    return compile(formula, "<step>", "eval")


@dataclass
class _Used:
    """The names that a step uses, or its backward, some of them changed."""

    step: str
    values: Values
    changes: Changes

    def __getitem__(self, name: str) -> Any:
        right, text = self.values[name], self.changes.get((self.step, name))
        if text is None:
            return right
        made = instead(text, right, self.values)
        in_backward = self.step.startswith(BACKWARD) and not callable(right)
        return as_if(made, right) if in_backward else made


def instead(text: str, right: Any, values: Values) -> Any:
    """What stands in place of a right value, as large as the right one if it can be."""
    try:
        made = eval(code(text), BUILTINS, values)
    except (NameError, IndexError, RuntimeError) as error:
        raise Impossible from error
    if callable(right):
        return made
    made = torch.as_tensor(made, dtype=torch.float64)
    sizes = zip(reversed(made.shape), reversed(right.shape))
    smaller = made.dim() <= right.dim() and all(a in (1, b) for a, b in sizes)
    return made.expand(right.shape) if smaller else made


def run(s: Setting, changes: Changes, own: Values | None = None) -> dict[str, Any]:
    """The values of all steps; `own` are more functions for the changes."""
    if "values" not in s.kept:
        s.kept["values"] = _completed(s, given(s), {})
    steps = {step.removeprefix(BACKWARD) for step, _ in changes}
    values = values_before(steps, s.kept["values"])
    made = _completed(s, {**values, **(own or {})}, changes)
    if not by_autograd(s):
        return made
    leaves = [made[name.removeprefix("grad_")] for name in s.truth]
    sum_ = made["backward"].sum()
    found = torch.autograd.grad(sum_, leaves, retain_graph=True, materialize_grads=True)
    return {**made, **dict(zip(s.truth, found))}


def values_before(steps: set[str], values: Values) -> dict[str, Any]:
    """What is known before the first of some steps."""
    return dict(itertools.takewhile(lambda item: item[0] not in steps, values.items()))


def _completed(s: Setting, values: dict[str, Any], changes: Changes) -> dict[str, Any]:
    """The values, and the values of all other steps."""
    changed = {step for step, _ in changes}
    for step, formula in steps_of(s).items():
        if step in values:
            continue
        used: Any = _Used(step, values, changes)
        values[step] = eval(code(formula), BUILTINS, used)
        if BACKWARD + step in changed:
            used = _Used(BACKWARD + step, {**s.kept["values"], **values}, changes)
            values[step] = as_if(values[step], eval(code(formula), BUILTINS, used))
    return values
