# SPDX-License-Identifier: MIT
"""Known mistakes of gelu."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

import torch

from grader.diagnosis.mistakes import formulas
from grader.diagnosis.mistakes.mistake import Answers, Formula, Mistake, Setting
from grader.diagnosis.mistakes.strides import strides_ignored
from grader.operators.entry import Tensors

T = torch.Tensor
Change = Callable[[T], T]
SCALE, CUBIC = math.sqrt(2 / math.pi), 0.044715
FORMS = ("none", "tanh")
SCALES = (  # what sqrt(2/pi) is mixed up with, and with how few digits it is written
    *(2 / math.pi, math.sqrt(2) / math.pi, math.sqrt(math.pi / 2), math.sqrt(math.pi)),
    *(math.sqrt(2 * math.pi), 1 / math.sqrt(2 * math.pi), 2 / math.sqrt(math.pi)),
    *(math.sqrt(math.pi) / 2, math.sqrt(2), math.sqrt(0.5), 1.0),
    *(0.8, 0.79, 0.798, 0.797, 0.7979, 0.7978, 0.79788),
)
CUBICS = (  # a digit more or less, two changed for each other, another power of ten
    *(0.0, 1.0, -CUBIC, 10 * CUBIC, CUBIC / 10, 100 * CUBIC, CUBIC / 3),
    *(0.04, 0.045, 0.044, 0.0447, 0.04471, 0.04472, 0.04715, 0.04475, 0.04415),
    *(0.047415, 0.044175, 0.044751, 0.0447715, 0.0444715, 0.0447115, 0.0447155),
)


def _of_form(form: str, made: Change) -> Formula:
    """A wrong function where this form is asked for; the other form is right."""

    def forward(s: Setting, inputs: Tensors) -> T | None:
        right = s.options["approximate"] != form
        return formulas.reference(s, inputs) if right else made(inputs["input"])

    return formulas.through(forward)


def _of_any(made: Change) -> Formula:
    """A wrong function, whichever form is asked for."""
    forward: formulas.Forward = lambda s, inputs: made(inputs["input"])  # noqa: E731
    return formulas.through(forward)


# ---- the other function --------------------------------------------------------------


def _other_form() -> Iterator[Formula]:
    """One form for both, or each for the other."""
    for form in FORMS:

        def always(s: Setting, form: str = form) -> Setting:
            return s.option(approximate=form)

        yield formulas.altered(always)
    yield formulas.altered(
        lambda s: s.option(approximate=FORMS[s.options["approximate"] == "none"])
    )


def _sigmoid(x: T) -> T:
    return x * torch.sigmoid(1.702 * x)


# ---- constants -----------------------------------------------------------------------


def _argument(x: T, scale: float = SCALE, cubic: float = CUBIC) -> T:
    return scale * (x + cubic * x**3)


def _squashed(x: T, value: T, slope: T) -> T:
    """x/2 * (1 + tanh(value)), differentiated as if `slope` were what tanh is of."""
    return x / 2 * (1 + torch.tanh(value.detach() + slope - slope.detach()))


def _wrong_argument(wrong: Change) -> Iterator[Formula]:
    """The argument of tanh is another one, everywhere, or in one of two places."""

    def everywhere(x: T) -> T:
        return _squashed(x, wrong(x), wrong(x))

    def inside(x: T) -> T:
        return _squashed(x, wrong(x), _argument(x))

    def outside(x: T) -> T:
        return _squashed(x, _argument(x), wrong(x))

    yield _of_form("tanh", everywhere)
    for made in (inside, outside):
        yield formulas.backward_only(_of_form("tanh", made))


def _cubics() -> Iterator[Formula]:
    for cubic in CUBICS:
        yield from _wrong_argument(partial(_argument, cubic=cubic))
    yield from _wrong_argument(lambda x: SCALE * (x + CUBIC * x**2))


def _scales() -> Iterator[Formula]:
    for scale in SCALES:
        yield from _wrong_argument(partial(_argument, scale=scale))


def _arguments_of_erf() -> Iterator[Formula]:
    """erf(x), erf(x / 2), erf(sqrt(2) * x): the right function, seen from nearer."""
    for factor in (math.sqrt(2), math.sqrt(0.5), 2.0):

        def nearer(x: T, a: float = factor) -> T:
            return torch.nn.functional.gelu(a * x) / a

        yield _of_form("none", nearer)
        share = partial(_chance, near=factor)
        for first, second in ((share, _chance), (_chance, share)):  # in one term alone
            one = partial(_product, share=first, bend=second)
            yield formulas.backward_only(_of_form("none", one))


def _chance(x: T, near: float = 1.0) -> T:
    """The factor of x in the form with erf."""
    return (1 + torch.erf(near * math.sqrt(0.5) * x)) / 2


def _product(x: T, share: Change, bend: Change) -> T:
    """x times a share, differentiated as if `bend` had the share's slope."""
    return x * share(x).detach() + x.detach() * (bend(x) - bend(x).detach())


def _densities() -> Iterator[Formula]:
    """Other slopes of the share: exp(-x^2) for exp(-x^2 / 2), another factor."""
    for near, factor in (
        *((math.sqrt(2), math.sqrt(0.5)), (1.0, math.sqrt(2 * math.pi))),
        *((1.0, math.sqrt(2)), (1.0, math.sqrt(8)), (1.0, math.sqrt(0.5))),
        *((1.0, math.sqrt(2 / math.pi)), (1.0, 0.5), (1.0, 2.0)),
    ):

        def bend(x: T, a: float = near, c: float = factor) -> T:
            return c * _chance(x, near=a)

        made = partial(_product, share=_chance, bend=bend)
        yield formulas.backward_only(_of_form("none", made))


# ---- factors and terms ---------------------------------------------------------------


def _share(s: Setting) -> T:
    """What x is multiplied by."""
    x = s.inputs["input"]
    made = formulas.reference(s, s.inputs)
    assert made is not None
    return torch.where(x == 0, torch.full_like(x, 0.5), made / x)


def _slope(s: Setting) -> T:
    """The right gradient of a grad_output of ones."""
    found = formulas.altered(lambda s: s.grad(torch.ones_like))(s)
    slope = (found or {})["grad_input"]
    assert slope is not None
    return slope


def _gradients(made: Callable[[T, T, T, T], T]) -> Iterator[Formula]:
    """grad_input of grad_output, x, the share and x times the share's slope, in both
    forms or in one of them.
    """
    for asked in (FORMS, *((form,) for form in FORMS)):

        def formula(s: Setting, wrong: tuple[str, ...] = asked) -> Answers:
            if s.options["approximate"] not in wrong:
                return {}
            share = _share(s)
            grad, x = s.grads[0], s.inputs["input"]
            return {"grad_input": made(grad, x, share, _slope(s) - share)}

        yield formulas.backward_only(formula)


def _at_output(s: Setting) -> Setting:
    """The output in the input's place."""
    made = formulas.reference(s, s.inputs)
    assert made is not None
    return s.input(input=made)


def _scaled(factor: float) -> Iterator[Formula]:
    for name in ("output", "grad_input"):
        yield formulas.answered(name, lambda t, _: factor * t)


MISTAKES = (
    Mistake(
        "other_form",
        "this is the other form of gelu: 'none' uses erf, 'tanh' uses tanh",
        tuple(formulas.forward_only(formula) for formula in _other_form()),
    ),
    Mistake(
        "slope_of_other_form",
        "this is the slope of the other form of gelu: each form has its own slope",
        tuple(formulas.backward_only(formula) for formula in _other_form()),
    ),
    Mistake(
        "sigmoid_for_gelu",
        "this is x * sigmoid(1.702 * x), a third function that is called gelu too",
        (_of_any(_sigmoid), *(_of_form(form, _sigmoid) for form in FORMS)),
    ),
    Mistake(
        "inner_slope_wrong",
        "by the chain rule, multiply by the whole slope of tanh's argument too",
        tuple(
            formulas.backward_only(_of_form("tanh", made))
            for made in (
                lambda x: _squashed(x, _argument(x), x),
                lambda x: _squashed(x, _argument(x), SCALE * x),
                lambda x: _squashed(x, _argument(x), _argument(x) / SCALE),
                lambda x: _squashed(
                    x, _argument(x), SCALE * x * (1 + CUBIC * x.detach() ** 2)
                ),
            )
        ),
    ),
    Mistake(
        "cubic_term_wrong",
        "the cubic term in tanh's argument is wrong: compare its constant and its "
        "power digit by digit",
        tuple(_cubics()),
    ),
    Mistake(
        "scale_wrong",
        "the factor in front of tanh's argument is not sqrt(2/pi)",
        tuple(_scales()),
    ),
    Mistake(
        "argument_of_erf_wrong",
        "the argument of erf is not x / sqrt(2)",
        tuple(_arguments_of_erf()),
    ),
    Mistake(
        "density_wrong",
        "in the form with erf, the factor beside x has the wrong slope: the right "
        "slope is exp(-x^2 / 2) / sqrt(2*pi)",
        tuple(_densities()),
    ),
    Mistake(
        "x_forgotten",
        "this is only the factor beside x: multiply it by x",
        (formulas.forward_only(lambda s: {"output": _share(s)}),),
    ),
    Mistake(
        "one_forgotten",
        "the 1 in 1 + erf, or 1 + tanh, is missing",
        (formulas.answered("output", lambda t, s: t - s.inputs["input"] / 2),),
    ),
    Mistake(
        "half_forgotten",
        "every number is twice as large as it should be: where is the factor 1/2?",
        tuple(_scaled(2.0)),
    ),
    Mistake(
        "slope_of_share_missing",
        "x is in both factors of the output: the second term of the product rule is "
        "missing",
        tuple(_gradients(lambda grad, x, share, bend: grad * share)),
    ),
    Mistake(
        "share_missing",
        "x is in both factors of the output: the first term of the product rule is "
        "missing",
        tuple(_gradients(lambda grad, x, share, bend: grad * bend)),
    ),
    Mistake(
        "x_missing_in_slope",
        "in the second term of the product rule the factor x is missing",
        tuple(_gradients(lambda grad, x, share, bend: grad * (share + bend / x))),
    ),
    Mistake(
        "output_saved",
        "the slope is computed from the output: backward needs the input of forward",
        (formulas.backward_only(formulas.altered(_at_output)),),
    ),
    Mistake(
        "grad_output_forgotten",
        "this is only the slope: backward multiplies it by grad_output",
        tuple(_gradients(lambda grad, x, share, bend: share + bend)),
    ),
    strides_ignored("input"),
)
