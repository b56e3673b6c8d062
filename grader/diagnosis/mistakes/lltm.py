# SPDX-License-Identifier: MIT
"""Known mistakes of lltm."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

import torch

from grader.diagnosis.mistakes import formulas
from grader.diagnosis.mistakes.mistake import Formula, Mistake, Setting
from grader.diagnosis.mistakes.strides import strides_ignored
from grader.operators.entry import Tensors

T = torch.Tensor
Activation = Callable[[T], T]
elu = torch.nn.functional.elu
RIGHT: tuple[Activation, ...] = (torch.sigmoid, torch.sigmoid, elu, torch.tanh)
NAMES = ("weight", "bias")


def _cell(s: Setting, inputs: Tensors, used: Sequence[Activation]) -> tuple[T, T]:
    """The cell with other activations of i, o, g and the new c."""
    joined = torch.cat([inputs["h"], inputs["input"]], dim=1)
    sums = torch.nn.functional.linear(joined, inputs["weight"], inputs["bias"])
    i, o, g = (a(x) for a, x in zip(used, sums.chunk(3, dim=1)))
    new_c = inputs["c"] + g * i
    return used[3](new_c) * o, new_c


def _activated(used: Sequence[Activation]) -> Formula:
    return formulas.through(lambda s, inputs: _cell(s, inputs, used))


# ---- blocks of the weight ------------------------------------------------------------


def _reordered(t: T, order: Sequence[int]) -> T:
    """The three blocks of rows in another order."""
    return torch.cat([t.chunk(3)[block] for block in order])


def _gates() -> Iterator[Formula]:
    """Any other order of the gates, of the weight's rows and of the bias or of one."""
    for order in itertools.permutations(range(3)):
        if order == (0, 1, 2):
            continue
        for some in (NAMES, *((name,) for name in NAMES)):

            def change(
                s: Setting, o: Sequence[int] = order, n: Sequence[str] = some
            ) -> Setting:
                return s.input(**{name: _reordered(s.inputs[name], o) for name in n})

            yield formulas.forward_only(formulas.altered(change))
        yield formulas.backward_only(formulas.through(_through_order(order)))


def _through_order(order: Sequence[int]) -> Callable[[Setting, Tensors], tuple[T, T]]:
    """Forward with gates in another order, both of weight and bias."""

    def forward(s: Setting, inputs: Tensors) -> tuple[T, T]:
        changed = {name: _reordered(inputs[name], order) for name in NAMES}
        return _cell(s, {**inputs, **changed}, RIGHT)

    return forward


def _gates_of_gradients() -> Iterator[Formula]:
    """The gradients in front of the gates laid down in another order."""
    for order in itertools.permutations(range(3)):
        if order == (0, 1, 2):
            continue

        def rows(t: T, _: Setting, o: Sequence[int] = order) -> T:
            return _reordered(t, o)

        def columns(s: Setting, o: Sequence[int] = order) -> Setting:
            back = [o.index(block) for block in range(3)]
            return s.input(weight=_reordered(s.inputs["weight"], back))

        for name in ("grad_weight", "grad_bias"):
            yield formulas.answered(name, rows)
        for name in ("grad_input", "grad_h"):
            yield formulas.only(name, formulas.backward_only(_behind_gates(columns)))


def _behind_gates(change: Callable[[Setting], Setting]) -> Formula:
    """The right gradient in front of the gates, times another weight."""

    def formula(s: Setting) -> dict[str, T | None]:
        bias = s.inputs["bias"].detach().expand(len(s.grads[0]), -1).clone()
        leaf = bias.requires_grad_()  # one for each sample: its gradient is in front
        made = _cell(s, {**s.inputs, "bias": leaf}, RIGHT)
        (grad,) = torch.autograd.grad(made, leaf, s.grads)
        H = s.inputs["h"].shape[1]
        weight = change(s).inputs["weight"]
        joined = grad @ weight
        return {"grad_h": joined[:, :H], "grad_input": joined[:, H:]}

    return formula


def _exchanged(s: Setting, inputs: Tensors) -> tuple[T, T]:
    """The weight's columns as if input came before h."""
    IC, weight = inputs["input"].shape[1], inputs["weight"]
    turned = torch.cat([weight[:, IC:], weight[:, :IC]], dim=1)
    return _cell(s, {**inputs, "weight": turned}, RIGHT)


def _exchanged_back() -> Iterator[Formula]:
    """The same in one gradient alone, forward being right."""

    def rolled(s: Setting) -> Setting:
        IC, weight = s.inputs["input"].shape[1], s.inputs["weight"]
        return s.input(weight=torch.cat([weight[:, IC:], weight[:, :IC]], dim=1))

    for name in ("grad_input", "grad_h"):
        yield formulas.only(name, formulas.backward_only(_behind_gates(rolled)))

    def turned(t: T, s: Setting) -> T:
        H = s.inputs["h"].shape[1]
        return torch.cat([t[:, H:], t[:, :H]], dim=1)

    yield formulas.answered("grad_weight", turned)


# ---- what is left out ----------------------------------------------------------------


def _only_one_gradient() -> Iterator[Formula]:
    """new_c is a result and makes new_h: one of its two gradients is left out."""

    def without_c(s: Setting) -> dict[str, T | None] | None:
        h, c = s.grads
        zeroed = Setting(s.operator, s.inputs, s.options, (h, c * 0), s.truth)
        return _activated(RIGHT)(zeroed)

    cut = [*RIGHT[:3], _with_slope(torch.tanh, torch.zeros_like)]
    yield formulas.backward_only(without_c)
    yield formulas.backward_only(_activated(cut))
    yield formulas.answered("grad_c", lambda t, s: s.grads[1])


# ---- activations ---------------------------------------------------------------------


def _no_activation(x: T) -> T:
    return x


def _wrong_activations() -> Iterator[Formula]:
    """One activation in the place of another, differentiated as it is."""
    places: tuple[tuple[int, tuple[Activation, ...]], ...] = (
        (3, (torch.sigmoid, _no_activation, elu)),
        (2, (torch.sigmoid, torch.tanh, torch.relu, _no_activation)),
        (0, (torch.tanh, elu, _no_activation)),
        (1, (torch.tanh, elu, _no_activation)),
    )
    for at, others in places:
        for other in others:
            yield _activated([*RIGHT[:at], other, *RIGHT[at + 1 :]])


def _with_slope(activation: Activation, slope: Activation) -> Activation:
    """The right values, but this slope."""
    return lambda x: activation(x).detach() + slope(x).detach() * (x - x.detach())


def _slope(activation: Activation, x: T) -> T:
    leaf = x.detach().requires_grad_()
    with torch.enable_grad():
        return torch.autograd.grad(activation(leaf).sum(), leaf)[0]


def _twice(activation: Activation) -> Activation:
    """The slope where the activated value stands, as if it were the sum."""
    return _with_slope(activation, lambda x: _slope(activation, activation(x.detach())))


#: slopes by the activated value y; here the value before stands in its place
_BY_SUM = {
    torch.sigmoid: lambda x: x * (1 - x),
    torch.tanh: lambda x: 1 - x * x,
    elu: lambda x: torch.where(x > 0, 1.0, x + 1),
}


def _wrong_slopes() -> Iterator[Formula]:
    """Any of the four slopes taken at the wrong one of the two values."""
    for kind in (_twice, lambda a: _with_slope(a, _BY_SUM[a])):
        for count in range(1, 5):
            for some in itertools.combinations(range(4), count):
                used = [kind(a) if at in some else a for at, a in enumerate(RIGHT)]
                yield formulas.backward_only(_activated(used))


def _missing_slopes() -> Iterator[Formula]:
    """A slope taken for 1, or without one of its factors or branches."""
    of_sigmoid = (torch.ones_like, torch.sigmoid, lambda x: 1 - torch.sigmoid(x))
    of_elu = (torch.ones_like, torch.exp, torch.zeros_like)
    of_tanh = (torch.ones_like, lambda x: 1 - torch.tanh(x), torch.tanh)
    places: tuple[tuple[tuple[int, ...], tuple[Activation, ...]], ...] = (
        ((0,), of_sigmoid),
        ((1,), of_sigmoid),
        ((0, 1), of_sigmoid),
        ((2,), of_elu),
        ((3,), of_tanh),
    )
    for some, slopes in places:
        for slope in slopes:
            used = [
                _with_slope(a, slope) if at in some else a for at, a in enumerate(RIGHT)
            ]
            yield formulas.backward_only(_activated(used))


def _one_term() -> Iterator[Formula]:
    """The last term of each sum in a gradient: of a sum over gates, or over samples."""

    def last_row(s: Setting) -> Setting:
        return s.input(weight=formulas.alone(s.inputs["weight"], 0, -1))

    def last_sample(g: T) -> T:
        return formulas.alone(g, 0, -1)

    for name in ("grad_input", "grad_h"):
        yield formulas.only(name, formulas.backward_only(_behind_gates(last_row)))
    for name in ("grad_weight", "grad_bias"):
        alone = formulas.altered(lambda s: s.grad(last_sample))
        yield formulas.only(name, formulas.backward_only(alone))


MISTAKES = (
    Mistake(
        "gates_swapped",
        "the three blocks of gates are in the wrong order: the right order is i, o, g",
        (*_gates(), *_gates_of_gradients()),
    ),
    Mistake(
        "joined_swapped",
        "a row of weight multiplies state and input in the wrong order: h comes "
        "first, then input",
        (formulas.through(_exchanged), *_exchanged_back()),
    ),
    Mistake(
        "old_cell_forgotten",
        "the old cell is missing: new_c is c plus a product, and grad_c is not zero",
        (formulas.forgotten("c"), *formulas.left_out("grad_c")),
    ),
    Mistake(
        "cell_gradient_missing",
        "new_c is a result, and new_h uses it too: the gradient of new_c is a sum of "
        "two terms",
        tuple(_only_one_gradient()),
    ),
    Mistake(
        "activation_wrong",
        "an activation is wrong: use sigmoid for i and o, elu for g, tanh for new_c",
        tuple(_wrong_activations()),
    ),
    formulas.gradients_swapped(formulas.exchanged("grad_h", "grad_c")),
    Mistake(
        "slope_missing",
        "the slope of an activation, or a part of it, is missing: sigmoid, elu and "
        "tanh each have a slope",
        tuple(_missing_slopes()),
    ),
    Mistake("accumulation_missing", formulas.ONE_TERM, tuple(_one_term())),
    Mistake(
        "slope_at_wrong_value",
        "a slope is computed from the wrong value: forward saves the gates after "
        "their activation",
        tuple(_wrong_slopes()),
    ),
    formulas.bias_missing(),
    Mistake(
        "bias_averaged",
        "a sum is needed, not an average",
        (
            formulas.answered("grad_bias", lambda t, s: t / max(1, len(s.grads[0]))),
            formulas.answered("grad_bias", lambda t, s: t / max(1, s.grads[0].numel())),
            formulas.answered("grad_bias", lambda t, s: t / s.grads[0].shape[1]),
        ),
    ),
    strides_ignored("input", "weight", "bias", "h", "c"),
)
