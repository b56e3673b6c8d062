# SPDX-License-Identifier: MIT
"""Known mistakes of lltm, as changes of its steps (grader/diagnosis/search)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial

import torch

from grader.diagnosis.mistakes import formulas
from grader.diagnosis.mistakes.strides import strides_ignored
from grader.diagnosis.search import step_mistakes


def _in_order(t: torch.Tensor, order: str, *, axis: int) -> torch.Tensor:
    """The blocks of the gates along an axis in another order."""
    return torch.cat([t.chunk(3, axis)["iog".index(gate)] for gate in order], axis)


OWN = {"rows": partial(_in_order, axis=0), "columns": partial(_in_order, axis=1)}
known = partial(step_mistakes.known, OWN)


def _orders() -> Iterator[str]:
    """The gates in another order: in forward, in backward, and the same in both."""
    for order in ("igo", "ogi", "oig", "gio", "goi"):
        back = "".join("iog"[order.index(gate)] for gate in "iog")
        forward = f"blocks: preact = columns(preact, '{order}')"
        yield from (
            forward,
            f"{forward}; dblocks: dpreact = columns(dpreact, '{back}')",
        )
        yield from (f"preact: {x} = rows({x}, '{order}')" for x in ("weight", "bias"))
        yield f"dblocks: dpreact = columns(dpreact, '{order}')"


def _some(*keys: str) -> list[str]:
    """One of the changes, or several."""
    counts = range(1, len(keys) + 1)
    return ["; ".join(s) for n in counts for s in itertools.combinations(keys, n)]


TURNED = "djoined = side_by_side(right(djoined, input), left(djoined, input))"
JOINED = (
    *(f"{step}: joined = side_by_side(input, h)" for step in ("preact", "grad_weight")),
    f"grad_h: {TURNED}; grad_input: {TURNED}",
)

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
        *JOINED,
        "; ".join(JOINED),
    ),
    known(
        "old_cell_forgotten",
        "the old cell is missing: new_c is c plus a product, and grad_c is not zero",
        *("new_c: c = 0", "grad_c: dnew_c = 0", "grad_c: dnew_c = inf"),
    ),
    known(
        "cell_gradient_missing",
        "new_c is a result, and new_h uses it too: the gradient of new_c is a sum of "
        "two terms",
        *("dnew_c: grad_new_c = 0", "dnew_c: grad_new_h = 0"),
    ),
    known(
        "activation_wrong",
        "an activation is wrong: use sigmoid for i and o, elu for g, tanh for new_c",
        *(f"squashed: tanh = {name}" for name in ("sigmoid", "same", "elu")),
        *(f"g: elu = {name}" for name in ("sigmoid", "tanh", "relu", "same")),
        *(f"i: sigmoid = {name}" for name in ("tanh", "elu", "same")),
        *(f"o: sigmoid = {name}" for name in ("tanh", "elu", "same")),
    ),
    formulas.gradients_swapped(formulas.exchanged("grad_h", "grad_c")),
    known(
        "slope_missing",
        "the slope of an activation, or a part of it, is missing: sigmoid, elu and "
        "tanh each have a slope",
        *_some("dpreact_i: slope_i = 1", "dpreact_o: slope_o = 1"),
        *_some("dpreact_i: slope_i = i", "dpreact_o: slope_o = o"),
        *_some("dpreact_i: slope_i = 1 - i", "dpreact_o: slope_o = 1 - o"),
        *(f"dpreact_g: slope_g = {slope}" for slope in ("1", "exp(preact_g)", "0")),
        *(f"dnew_c: slope_c = {slope}" for slope in ("1", "1 - squashed", "squashed")),
    ),
    known(
        "accumulation_missing",
        formulas.ONE_TERM,
        "djoined: weight = only_last_row(weight)",
        "grad_weight: dblocks = only_last_row(dblocks)",
        "grad_bias: dblocks = only_last_row(dblocks)",
    ),
    known(
        "slope_at_wrong_value",
        "a slope is computed from the wrong value: forward saves the gates after "
        "their activation",
        *_some(
            *(f"slope_{gate}: {gate} = preact_{gate}" for gate in "iog"),
            "slope_c: squashed = new_c",
        ),
        *_some(
            *("slope_i: i = sigmoid(i)", "slope_o: o = sigmoid(o)"),
            *("slope_g: g = elu(g)", "slope_c: squashed = tanh(squashed)"),
        ),
    ),
    known(
        "bias_missing",
        "the bias is missing, everything else is right",
        *("preact: bias = 0", "grad_bias: dblocks = 0", "grad_bias: dblocks = inf"),
    ),
    known(
        "bias_averaged",
        "a sum is needed, not an average",
        *(f"grad_bias: dblocks = dblocks / {count}" for count in ("N", "H", "(N*H)")),
    ),
    strides_ignored("input", "weight", "bias", "h", "c"),
)
