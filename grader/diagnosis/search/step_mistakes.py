# SPDX-License-Identifier: MIT
"""Makes mistakes of the changes of named steps, and finds the one that fits."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from grader.diagnosis.match import Trial, name_of
from grader.diagnosis.mistakes.formulas import exchanged
from grader.diagnosis.mistakes.mistake import Answers, Formula, Mistake, Setting
from grader.diagnosis.search import named_steps as steps
from grader.diagnosis.search import searched
from grader.diagnosis.search.named_steps import BACKWARD, Values, code, form_of, run

GRADIENT = "gradient_of_step_wrong"
FACTORS = ("0", "-1", "2", "1/2")  # of a gradient
SLOPES = ("{0}", "1 - {0}", "1 - {0}**2", "{0} * (1 - {0})", "{0} + 1")
LIKELY = ("0", "1", "-{}", "{}**2", "{}/2", "2*{}", "{} - 1", "sqrt({})")


@dataclass(frozen=True, eq=False)
class Changed:
    """A formula: an operator in which some steps use something else."""

    changes: steps.Changes
    form: str = ""  # of gelu: only this form is wrong
    own: Values = field(default_factory=dict)

    def __call__(self, s: Setting) -> Answers:
        """What the steps make; the right numbers where a change is not possible."""
        if self.form not in ("", form_of(s)):
            return {}
        try:
            made = run(s, self.changes, self.own)
            there = {name: t for name, t in s.truth.items() if name in made}
            return {name: made[name].reshape(t.shape) for name, t in there.items()}
        except (steps.Impossible, IndexError, RuntimeError):  # of shapes
            return {}


def known(own: Values, name: str, sentence: str, *keys: str | Formula) -> Mistake:
    """A known mistake as changes of steps. "variance: D = D - 1; rstd: eps = 0 (tanh)":
    two steps, each with a name and what it uses instead; only in the form tanh.
    """
    made = (of_key(key, own) if isinstance(key, str) else key for key in keys)
    return Mistake(name, sentence, tuple(made))


def of_key(key: str, own: Values) -> Changed:
    """The formula that a key stands for."""
    form = next((f for f in steps.PROGRAMS["gelu"] if key.endswith(f" ({f})")), "")
    changes = {}
    for part in key.removesuffix(f" ({form})").split("; "):
        place, text = part.split(" = ")
        step, name = place.split(": ")
        changes[step, name] = text
    return Changed(changes, form, own)


def each_way(use: str, *texts: str) -> Iterator[str]:
    """Keys: another value with its gradient, only the value, and only the gradient."""
    _, name = use.split(": ")
    for text in texts:
        for way in (text, f"as_if({text}, {name})", f"as_if({name}, {text})"):
            yield f"{use} = {way}"


# ---- search --------------------------------------------------------------------------


def named(operator: str, trials: Sequence[Trial]) -> list[tuple[str, Mistake]]:
    """A mistake for each wrong tensor, or nothing."""
    wrong_first = sorted(trials, key=lambda trial: not trial.failed)
    found = mistakes_of(operator, [trial.setting for trial in wrong_first])
    return name_of(lambda _: found, trials)


def mistakes_of(operator: str, settings: Sequence[Setting]) -> list[Mistake]:
    """The changes of one use of a value, the likely changes of all uses first."""
    firsts = {form_of(s): s for s in reversed(settings)}  # the first of each form
    uses = [
        (step, name)
        for s in firsts.values()
        for step, formula in reversed(steps.steps_of(s).items())
        for name in code(formula).co_names
    ]
    found = []
    if operator == "lltm" and not settings[0].grads:
        words = "each result in the other one's place"
        results = exchanged(*settings[0].results)
        found.append(searched("results_exchanged", words, [results]))
    turns = (_mistakes(*use, [*firsts.values()]) for use in dict.fromkeys(uses))
    for row in itertools.zip_longest(*turns):
        found += [mistake for mistake in row if mistake]
    return found


def _mistakes(step: str, name: str, settings: Sequence[Setting]) -> Iterator[Mistake]:
    """The changes of one use: in all forms of the operator, and in one of them."""
    there = [s for s in settings if name in _parts(step, s)]
    for found, words, changed, text in _changes_of(step, name, there[0]):
        for form in ("", *map(form_of, there if there[1:] else ())):
            where = f" where approximate is '{form}'" if form else ""
            made = Changed({(changed, name): text}, form)
            yield searched(found, words + where, [made])


def _changes_of(step: str, name: str, s: Setting) -> Iterator[tuple[str, ...]]:
    """The mistake's name, words, the step that changes, and what it uses instead."""
    values = run(s, {})
    before = steps.values_before({step}, values)
    differentiated = steps.by_autograd(s) and step != "backward"
    for where, there in (("", before), (BACKWARD, values))[: 1 + differentiated]:
        for text in _texts(where + step, name, s, there):
            words = f"`{text}` in place of `{name}` in the {where}step `{step}`"
            yield GRADIENT if where else "step_wrong", words, where + step, text
    right = before[name]
    if not differentiated or callable(right) or not _matters(step, name, s):
        return
    gradient = f"the gradient of `{name}` that comes from the step `{step}` is"
    factors = (*FACTORS, *_factors(step, name, s, before))
    texts = {f"fixed({f}) * {name}": f"{gradient} multiplied by `{f}`" for f in factors}
    texts |= {f"{f}({name})": f"{gradient} changed by `{f}`" for f in steps.OF_MATRIX}
    function, *arguments = *_parts(name, s), ""
    if function in steps.KINDS[0]:
        slope = f"the slope of the step `{name}` is"
        for text in (text.format(name) for text in SLOPES):
            texts[f"fixed({text}) * {arguments[0]}"] = f"{slope} `{text}`"
    for text, how in texts.items():
        if _fits(text, right, before):
            yield GRADIENT, f"a backward in which {how}", step, f"as_if({name}, {text})"


def _texts(step: str, name: str, s: Setting, values: Values) -> Iterator[str]:
    """What may stand in place of a name, the likely texts first."""
    right = values[name]
    if callable(right):
        others = (other for kind in steps.KINDS if name in kind for other in kind)
        yield from (other for other in others if other != name)
    elif _matters(step, name, s):
        every = [text.format(name) for text in LIKELY]
        every += [f"{change}({name})" for change in steps.OF_MATRIX if right.dim() == 2]
        for factor in _factors(step, name, s, values):
            if factor != name:
                every += [factor, f"{name} * {factor}".replace("* 1/", "/ ")]
        yield from (text for text in every if _fits(text, right, values))


def _parts(step: str, s: Setting) -> tuple[str, ...]:
    """The names that a step uses; an input uses none."""
    return code(steps.steps_of(s).get(step, "0")).co_names


def _matters(step: str, name: str, s: Setting) -> bool:
    """Whether the results depend on the value that a step uses."""
    made = run(s, {(step, name): f"0.3 - 1.7*{name}"})
    pairs = ((made[result].flatten(), t.flatten()) for result, t in s.truth.items())
    return any(not torch.allclose(*pair) for pair in pairs)


def _factors(step: str, name: str, s: Setting, values: Values) -> Iterator[str]:
    """Other values, and 1 over some of them."""
    forward, _ = steps.PROGRAMS[s.operator.name][form_of(s)]
    step = step.removeprefix(BACKWARD)
    parts = _parts(name, s)
    for other, value in values.items():
        of_backward = step in forward and other.startswith("grad_")
        if other in steps.CONSTANTS or callable(value) or of_backward:
            continue
        yield other
        if other in parts or value.numel() < values[name].numel():
            yield f"1/{other}"


def _fits(text: str, right: Any, values: Values) -> bool:
    """Whether a text makes something as large as the right value."""
    with contextlib.suppress(steps.Impossible):
        return bool(steps.instead(text, right, values).shape == right.shape)
    return False
