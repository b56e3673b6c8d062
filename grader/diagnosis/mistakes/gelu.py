# SPDX-License-Identifier: MIT
"""Known mistakes of gelu, most as changes of its steps (grader/diagnosis/search)."""

from __future__ import annotations

import math
from functools import partial

from grader.diagnosis.mistakes import formulas
from grader.diagnosis.mistakes.mistake import Mistake, Setting
from grader.diagnosis.mistakes.strides import strides_ignored
from grader.diagnosis.search import step_mistakes

CUBIC = 0.044715
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
DENSITIES = (  # what the density is multiplied with
    *(math.sqrt(2 * math.pi), math.sqrt(2), math.sqrt(8), math.sqrt(0.5)),
    *(math.sqrt(2 / math.pi), 0.5, 2.0),
)
known, each_way = partial(step_mistakes.known, {}), step_mistakes.each_way
NEARER = math.sqrt(2), math.sqrt(0.5), 2.0  # erf(x), erf(x / 2), erf(sqrt(2) * x)
SHARES = [f"(one + erf({factor} * argument)) / two" for factor in NEARER]


def _in_forms(key: str) -> tuple[str, ...]:
    """In both forms, and in one of them."""
    return key, f"{key} (none)", f"{key} (tanh)"


def _at_output(s: Setting) -> Setting:
    """The output in the input's place."""
    made = formulas.reference(s, s.inputs)
    assert made is not None
    return s.input(input=made)


def _as_form(forms: tuple[str, str], s: Setting) -> Setting:
    """The forms that are computed for 'none' and for 'tanh'."""
    return s.option(approximate=forms[s.options["approximate"] == "tanh"])


OTHER_FORM = [  # one form for both, or each for the other
    formulas.altered(partial(_as_form, forms))
    for forms in (("none", "none"), ("tanh", "tanh"), ("tanh", "none"))
]

MISTAKES = (
    Mistake(
        "other_form",
        "this is the other form of gelu: 'none' uses erf, 'tanh' uses tanh",
        tuple(map(formulas.forward_only, OTHER_FORM)),
    ),
    Mistake(
        "slope_of_other_form",
        "this is the slope of the other form of gelu: each form has its own slope",
        tuple(map(formulas.backward_only, OTHER_FORM)),
    ),
    known(
        "sigmoid_for_gelu",
        "this is x * sigmoid(1.702 * x), a third function that is called gelu too",
        *_in_forms("output: share = sigmoid(1.702 * input)"),
    ),
    known(
        "inner_slope_wrong",
        "by the chain rule, multiply by the whole slope of tanh's argument too",
        "squashed: argument = as_if(argument, input) (tanh)",
        "squashed: argument = as_if(argument, scale * input) (tanh)",
        "backward of argument: scale = 1",
        "argument: cube = as_if(cube, cube / 3)",
    ),
    known(
        "cubic_term_wrong",
        "the cubic term in tanh's argument is wrong: compare its constant and its "
        "power digit by digit",
        *each_way("argument: cube", *(f"{c / CUBIC} * cube" for c in CUBICS)),
        *each_way("argument: cube", "input**2"),
    ),
    known(
        "scale_wrong",
        "the factor in front of tanh's argument is not sqrt(2/pi)",
        *each_way(
            "squashed: argument",
            *(f"{scale} * (input + cubic * cube)" for scale in SCALES),
        ),
    ),
    known(
        "argument_of_erf_wrong",
        "the argument of erf is not x / sqrt(2)",
        *(f"{key} (none)" for key in each_way("output: share", *SHARES)),
    ),
    known(
        "density_wrong",
        "in the form with erf, the factor beside x has the wrong slope: the right "
        "slope is exp(-x^2 / 2) / sqrt(2*pi)",
        "backward of squashed: argument = root_2 * argument (none)",
        *(f"output: share = as_if(share, {d} * share) (none)" for d in DENSITIES),
    ),
    known(
        "x_forgotten",
        "this is only the factor beside x: multiply it by x",
        "output: input = 1",
    ),
    known(
        "one_forgotten", "the 1 in 1 + erf, or 1 + tanh, is missing", "share: one = 0"
    ),
    known(
        "half_forgotten",
        "every number is twice as large as it should be: where is the factor 1/2?",
        "share: two = 1",
    ),
    known(
        "slope_of_share_missing",
        "x is in both factors of the output: the second term of the product rule is "
        "missing",
        *_in_forms("output: share = fixed(share)"),
    ),
    known(
        "share_missing",
        "x is in both factors of the output: the first term of the product rule is "
        "missing",
        *_in_forms("output: input = fixed(input)"),
    ),
    known(
        "x_missing_in_slope",
        "in the second term of the product rule the factor x is missing",
        *_in_forms("backward of output: input = 1"),
    ),
    Mistake(
        "output_saved",
        "the slope is computed from the output: backward needs the input of forward",
        (formulas.backward_only(formulas.altered(_at_output)),),
    ),
    known(
        "grad_output_forgotten",
        "this is only the slope: backward multiplies it by grad_output",
        *_in_forms("backward: grad_output = 1"),
    ),
    strides_ignored("input"),
)
