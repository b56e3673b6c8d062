# SPDX-License-Identifier: MIT
"""Known mistakes of lltm, as changes of its steps (grader/diagnosis/search)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial

import torch

from grader.diagnosis.mistakes import formulas
from grader.diagnosis.mistakes.mistake import Formula
from grader.diagnosis.mistakes.strides import strides_ignored
from grader.diagnosis.search import step_mistakes

T = torch.Tensor


def _in_order(t: T, order: str) -> T:
    """The blocks of the gates along the last axis in another order."""
    return torch.cat([t.chunk(3, -1)["iog".index(gate)] for gate in order], -1)


OWN: dict[str, Callable[..., T]] = {
    "in_order": _in_order,
    "in_rows": lambda t, count: t.expand(int(count), -1),
    "elu_slope": lambda y: torch.where(y > 0, 1.0, y + 1),
}
FOR_ELU = ("sigmoid", "tanh", "relu", "same")
known, each_way = partial(step_mistakes.known, OWN), step_mistakes.each_way


def _orders() -> Iterator[str]:
    """The gates in another order, or only the products of weight, or the bias."""
    for order in ("igo", "ogi", "oig", "gio", "goi"):
        yield from each_way("blocks: preact", f"in_order(preact, '{order}')")
        yield f"blocks: preact = in_order(preact - bias, '{order}') + bias"
        yield f"preact: bias = in_order(bias, '{order}')"


def _some(*keys: str) -> list[str]:
    """One of the changes, or several."""
    counts = range(1, len(keys) + 1)
    return ["; ".join(s) for n in counts for s in itertools.combinations(keys, n)]


def _sloped(gate: str, slope: str, value: str = "") -> str:
    """Another slope of an activation, where its value is used; also another value."""
    step = "new_c" if gate in "ig" else "new_h"
    before = "new_c" if gate == "squashed" else f"preact_{gate}"
    return f"{step}: {gate} = as_if({value or gate}, fixed({slope}) * {before})"


def _unwritten(name: str) -> Formula:
    """A gradient that is never written."""
    return formulas.answered(name, lambda t, _: torch.full_like(t, formulas.UNWRITTEN))


MISTAKES = (
    known(
        "gates_swapped",
        "the three blocks of gates are in the wrong order: the right order is i, o, g",
        *_orders(),
    ),
    known(
        "joined_swapped",
        "a row of weight multiplies state and input in the wrong order: h comes "
        "first, then input",
        *each_way("preact: joined", "side_by_side(input, h)"),
        "backward of preact: joined = side_by_side(input, h)",
        "preact: joined = as_if(side_by_side(input, h), joined); "
        "backward of preact: joined = joined",
    ),
    known(
        "old_cell_forgotten",
        "the old cell is missing: new_c is c plus a product, and grad_c is not zero",
        *each_way("new_c: c", "0"),
        _unwritten("grad_c"),
    ),
    known(
        "cell_gradient_missing",
        "new_c is a result, and new_h uses it too: the gradient of new_c is a sum of "
        "two terms",
        *("backward: grad_new_c = 0", "squashed: new_c = fixed(new_c)"),
    ),
    known(
        "activation_wrong",
        "an activation is wrong: use sigmoid for i and o, elu for g, tanh for new_c",
        *(f"squashed: tanh = {name}" for name in ("sigmoid", "same", "elu")),
        *(f"g: elu = {name}" for name in FOR_ELU),
        *(_sloped("g", f"elu_slope({f}(preact_g))", f"{f}(preact_g)") for f in FOR_ELU),
        *(f"{x}: sigmoid = {f}" for x in "io" for f in ("tanh", "elu", "same")),
    ),
    formulas.gradients_swapped(formulas.exchanged("grad_h", "grad_c")),
    known(
        "slope_missing",
        "the slope of an activation, or a part of it, is missing: sigmoid, elu and "
        "tanh each have a slope",
        *_some("backward of i: sigmoid = same", "backward of o: sigmoid = same"),
        *_some(_sloped("i", "i"), _sloped("o", "o")),
        *_some(_sloped("i", "1 - i"), _sloped("o", "1 - o")),
        *(f"backward of {use} = same" for use in ("g: elu", "squashed: tanh")),
        *("backward of g: elu = exp", "new_c: g = fixed(g)"),
        *(_sloped("squashed", slope) for slope in ("1 - squashed", "squashed")),
    ),
    known(
        "accumulation_missing",
        formulas.ONE_TERM,
        "backward of preact: weight = only_last_row(weight)",
        "backward of preact: joined = only_last_row(joined)",
        "preact: bias = as_if(bias, only_last_row(in_rows(bias, N)))",
    ),
    known(
        "slope_at_wrong_value",
        "a slope is computed from the wrong value: forward saves the gates after "
        "their activation",
        *_some(
            *(_sloped(gate, f"preact_{gate} * (1 - preact_{gate})") for gate in "io"),
            _sloped("g", "elu_slope(preact_g)"),
            _sloped("squashed", "1 - new_c**2"),
        ),
        *_some(
            *(f"backward of {gate}: preact_{gate} = {gate}" for gate in "iog"),
            "backward of squashed: new_c = squashed",
        ),
    ),
    known(
        "bias_missing",
        "the bias is missing, everything else is right",
        *each_way("preact: bias", "0"),
        _unwritten("grad_bias"),
    ),
    known(
        "bias_averaged",
        "a sum is needed, not an average",
        *(f"preact: bias = as_if(bias, bias / {n})" for n in ("N", "H", "(N*H)")),
    ),
    strides_ignored("input", "weight", "bias", "h", "c"),
)
