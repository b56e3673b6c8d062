# SPDX-License-Identifier: MIT
"""Writes operators as named steps in which one use of a value can be changed.

A program calls `use(step, name, value)` for each value that a step reads. It gets the
value back, or a changed one: half of it, or its first row, or another value. So one
list of changes serves each step of each operator.

    rstd = use("rstd", "variance + eps", variance + eps).rsqrt()

The formulas are from common/operators.h. If it has none for backward, autograd
differentiates the program. Then a change may also be one of the gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import torch

from grader.diagnosis.mistakes.mistake import Answers, Setting
from grader.operators.entry import Tensors

T = torch.Tensor
Place = tuple[str, str]  # a step, and the value that it uses
Values = Mapping[str, T]  # by name: the values that were used before
Change = Callable[[T, Values], T | None]  # None: not possible for this value


@dataclass
class Use:
    """What a program calls: it records each use, and changes some of them."""

    changes: Mapping[Place, Change] = field(default_factory=dict)
    of_gradient: bool = False  # the change is one of what autograd brings back
    values: dict[str, T] = field(default_factory=dict)
    places: list[Place] = field(default_factory=list)
    possible: bool = True

    def __call__(self, step: str, name: str, value: T) -> T:
        """The value that the step goes on with."""
        self.places.append((step, name))
        before = dict(self.values)
        self.values[name] = value.detach()
        if (step, name) not in self.changes:
            return value
        given = value.detach() if self.of_gradient else value
        changed = self.changes[step, name](given, before)
        if changed is None:
            self.possible = False
            return value
        if self.of_gradient:
            return given + (value - given) * changed
        return changed


Program = Callable[[Setting, Tensors, Use], Answers]

# ---- layer_norm ----------------------------------------------------------------------


def layer_norm(s: Setting, inputs: Tensors, use: Use) -> Answers:
    """Forward and backward, each row of D elements by itself."""
    x = (
        inputs["input"].flatten(0, -2)
        if inputs["input"].dim() > 1
        else inputs["input"][None]
    )
    R, D = x.shape
    ones, zeros = torch.ones_like(x[0]), torch.zeros_like(x[0])
    weight, bias = inputs.get("weight", ones), inputs.get("bias", zeros)
    number = torch.tensor(float(D), dtype=torch.float64)
    eps = torch.tensor(s.options["eps"], dtype=torch.float64)
    mean = use("mean", "input", x).sum(1, keepdim=True) / use("mean", "D", number)
    distance = use("input - mean", "input", x) - use("input - mean", "mean", mean)
    squares = use("variance", "input - mean", distance).square().sum(1, keepdim=True)
    variance = squares / use("variance", "D", number)
    under = use("rstd", "variance", variance) + use("rstd", "eps", eps)
    rstd = use("rstd", "variance + eps", under).rsqrt()
    xhat = use("xhat", "input - mean", distance) * use("xhat", "rstd", rstd)
    if not s.grads:
        scaled = use("output", "xhat", xhat) * use("output", "weight", weight)
        output = scaled + use("output", "bias", bias)
        return {"output": output.reshape(inputs["input"].shape)}
    grad = s.grads[0].reshape(R, D)
    dx = use("dx", "grad_output", grad) * use("dx", "weight", weight)
    average = use("average of dx", "dx", dx).sum(1, keepdim=True)
    average = average / use("average of dx", "D", number)
    step = "average of dx*xhat"
    product = use(step, "dx", dx) * use(step, "xhat", xhat)
    other = product.sum(1, keepdim=True) / use(step, "D", number)
    step = "grad_input"
    less = use(step, "dx", dx) - use(step, "average of dx", average)
    less = less - use(step, "xhat", xhat) * use(step, "average of dx*xhat", other)
    grad_input = use(step, "rstd", rstd) * less
    step = "grad_weight"
    rows = use(step, "grad_output", grad) * use(step, "xhat", xhat)
    made = {
        "grad_input": grad_input.reshape(inputs["input"].shape),
        "grad_weight": rows.sum(0),
        "grad_bias": use("grad_bias", "grad_output", grad).sum(0),
    }
    return {name: value for name, value in made.items() if name in s.truth}


# ---- lltm ----------------------------------------------------------------------------


def lltm(s: Setting, inputs: Tensors, use: Use) -> Answers:
    """Forward; autograd makes backward of it."""
    joined = torch.cat([use("sums", n, inputs[n]) for n in ("h", "input")], 1)
    products = joined @ use("sums", "weight", inputs["weight"]).mT
    sums = use("gates", "sums", products + use("sums", "bias", inputs["bias"]))
    of_i, of_o, of_g = sums.chunk(3, 1)
    i = torch.sigmoid(use("i", "sums of i", of_i))
    o = torch.sigmoid(use("o", "sums of o", of_o))
    g = torch.nn.functional.elu(use("g", "sums of g", of_g))
    new_c = use("new_c", "c", inputs["c"]) + use("new_c", "g", g) * use("new_c", "i", i)
    wide = torch.tanh(use("tanh(new_c)", "new_c", new_c))
    new_h = use("new_h", "tanh(new_c)", wide) * use("new_h", "o", o)
    return {"new_h": new_h, "new_c": new_c}


PROGRAMS: dict[str, Program] = {"layer_norm": layer_norm, "lltm": lltm}
BACKWARD_BY_AUTOGRAD = ("lltm",)

#: steps of forward whose results backward gets as tensors
SAVED = ("mean", "input - mean", "variance", "rstd")

# ---- changes -------------------------------------------------------------------------

Changes = Iterator[tuple[str, Use]]  # words, and the changed use


def changes(place: Place, names: Sequence[str]) -> Changes:
    """What a step may use in place of a value, the likely ones first."""
    step, name = place
    value = f"`{name}`"
    simple: list[tuple[str, Change]] = [
        (f"0 in place of {value}", lambda t, _: torch.zeros_like(t)),
        (f"1 in place of {value}", lambda t, _: torch.ones_like(t)),
        (f"-{value}", lambda t, _: -t),
        (f"the square of {value}", lambda t, _: t * t),
        (f"half of {value}", lambda t, _: t / 2),
        (f"twice {value}", lambda t, _: 2 * t),
        (f"{value} less 1", lambda t, _: t - 1 if t.dim() == 0 else None),
        (f"{value} of the first row in every row", lambda t, _: row(t, 0)),
        (f"{value} of the last row in every row", lambda t, _: row(t, -1)),
        (f"{value} without its first column", lambda t, _: without(t, 0)),
        (f"{value} without its last column", lambda t, _: without(t, -1)),
        (f"{value} with its blocks interleaved", lambda t, _: interleaved(t)),
    ]
    for other in names:
        if other != name:
            simple += [
                (f"`{other}` in place of {value}", partial(instead, other=other)),
                (f"{value} times `{other}`", partial(times, other=other)),
                (f"{value} divided by `{other}`", partial(divided, other=other)),
            ]
    simple.append((f"the root of {value}", lambda t, _: t.sqrt()))
    for words, change in simple:
        yield f"{words} in the step `{step}`", Use({place: change})


def factors(place: Place, names: Sequence[str]) -> Changes:
    """What the gradient of a use may be multiplied with."""
    step, name = place
    numbers: list[tuple[str, Change]] = [
        ("0", lambda t, _: torch.zeros_like(t)),
        ("-1", lambda t, _: -torch.ones_like(t)),
        ("1/2", lambda t, _: torch.ones_like(t) / 2),
        ("2", lambda t, _: 2 * torch.ones_like(t)),
    ]
    for other in names:
        if other != name:
            numbers.append((f"`{other}`", partial(instead, other=other)))
            numbers.append((f"1/`{other}`", partial(inverse, other=other)))
    for words, change in numbers:
        words = (
            f"a backward in which the gradient of `{name}` that comes from `{step}` is "
            f"multiplied by {words}"
        )
        yield words, Use({place: change}, of_gradient=True)


def instead(t: T, values: Values, other: str) -> T | None:
    """Another value, if it fits here."""
    found = values.get(other)
    if found is None or found.dim() > t.dim():
        return None
    sizes = zip(reversed(found.shape), reversed(t.shape))
    return found.expand(t.shape) if all(a in (1, b) for a, b in sizes) else None


def inverse(t: T, values: Values, other: str) -> T | None:
    """1 over another value."""
    found = instead(t, values, other)
    return None if found is None else 1 / found


def times(t: T, values: Values, other: str) -> T | None:
    """The value times another one."""
    found = instead(t, values, other)
    return None if found is None else t * found


def divided(t: T, values: Values, other: str) -> T | None:
    """The value divided by another one."""
    found = instead(t, values, other)
    return None if found is None else t / found


def row(t: T, at: int) -> T | None:
    """One row in place of all."""
    return t[at].expand(t.shape) if t.dim() == 2 and len(t) else None


def without(t: T, at: int) -> T | None:
    """The same with 0 in one column."""
    if t.dim() != 2 or t.shape[1] < 2:
        return None
    made = t.clone()
    made[:, at] = 0
    return made


def interleaved(t: T) -> T | None:
    """Column 3*j + block where column block*H + j is meant."""
    if t.dim() != 2 or t.shape[1] % 3:
        return None
    made: T = t.unflatten(1, (-1, 3)).mT.flatten(1)
    return made
