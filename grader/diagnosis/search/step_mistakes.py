# SPDX-License-Identifier: MIT
"""Makes mistakes of the changes of named steps, and finds the one that fits."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from grader.diagnosis.match import Trial, name_of
from grader.diagnosis.mistakes.formulas import exchanged
from grader.diagnosis.mistakes.mistake import Answers, Formula, Mistake, Setting
from grader.diagnosis.search import searched
from grader.diagnosis.search.named_steps import (
    CONSTANTS,
    KINDS,
    OF_MATRIX,
    PROGRAMS,
    Changes,
    Impossible,
    Values,
    code,
    form_of,
    instead,
    run,
    steps_of,
    values_before,
)

LIKELY = ("0", "1", "-{}", "{}**2", "{}/2", "2*{}", "{} - 1", "sqrt({})")


@dataclass(frozen=True, eq=False)
class Changed:
    """A formula: an operator in which some steps use something else."""

    changes: Changes
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
        except (Impossible, RuntimeError):  # of shapes
            return {}


def known(own: Values, name: str, sentence: str, *keys: str | Formula) -> Mistake:
    """A known mistake as changes of steps. "variance: D = D - 1; rstd: eps = 0 (tanh)":
    two steps, each with a name and what it uses instead; only in the form tanh.
    """
    made = (of_key(key, own) if isinstance(key, str) else key for key in keys)
    return Mistake(name, sentence, tuple(made))


def of_key(key: str, own: Values) -> Changed:
    """The formula that a key stands for."""
    form = next((f for f in PROGRAMS["gelu"] if key.endswith(f" ({f})")), "")
    changes = {}
    for part in key.removesuffix(f" ({form})").split("; "):
        place, text = part.split(" = ")
        step, name = place.split(": ")
        changes[step, name] = text
    return Changed(changes, form, own)


# ---- search --------------------------------------------------------------------------


def named(operator: str, trials: Sequence[Trial]) -> list[tuple[str, Mistake]]:
    """A mistake for each wrong tensor, or nothing."""
    wrong_first = sorted(trials, key=lambda trial: not trial.failed)
    found = mistakes_of(operator, [trial.setting for trial in wrong_first])
    return name_of(lambda _: found, trials)


def mistakes_of(operator: str, settings: Sequence[Setting]) -> list[Mistake]:
    """The changes of one use of a value, the likely changes of all uses first."""
    firsts = {form_of(s): s for s in reversed(settings)}  # the first of each form
    backward = bool(settings[0].grads)
    uses = [
        (step, name)
        for form in firsts
        for step, formula in reversed(PROGRAMS[operator][form][backward].items())
        for name in code(formula).co_names
    ]
    found = []
    if operator == "lltm" and not backward:
        words = "each result in the other one's place"
        results = exchanged(*settings[0].results)
        found.append(searched("results_exchanged", words, [results]))
    turns = (_changes_of(*use, [*firsts.values()]) for use in dict.fromkeys(uses))
    for row in itertools.zip_longest(*turns):
        found += [mistake for mistake in row if mistake]
    return found


def _changes_of(step: str, name: str, settings: Sequence[Setting]) -> Iterator[Mistake]:
    """The changes of one use: in all forms of the operator, and in one of them."""
    there = [s for s in settings if name in code(steps_of(s).get(step, "0")).co_names]
    before = values_before({step}, run(there[0], {}))
    parts = code(steps_of(there[0]).get(name, "0")).co_names
    for text in _texts(name, parts, before):
        for form in ("", *map(form_of, there if there[1:] else ())):
            words = f"`{text}` in place of `{name}` in the step `{step}`"
            words += f" where approximate is '{form}'" if form else ""
            made = Changed({(step, name): text}, form)
            yield searched("step_wrong", words, [made])


def _texts(name: str, parts: Sequence[str], before: Values) -> Iterator[str]:
    """What may stand in place of a name, the likely texts first; `parts` are the names
    that its own formula has.
    """
    right, every = before[name], []
    if callable(right):
        others = (other for kind in KINDS if name in kind for other in kind)
        yield from (other for other in others if other != name)
        return
    every = [text.format(name) for text in LIKELY]
    every += [f"{change}({name})" for change in OF_MATRIX if right.dim() == 2]
    for other, value in before.items():
        if other not in (name, *CONSTANTS) and not callable(value):
            every += [other, f"{name} * {other}"]
            if other in parts or value.numel() < right.numel():
                every.append(f"{name} / {other}")
    for text in every:
        with contextlib.suppress(Impossible):
            if instead(text, right, before).shape == right.shape:
                yield text
