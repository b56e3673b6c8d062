# SPDX-License-Identifier: MIT
"""Which file computes a case: the rung itself, or a lower one that it calls?

The rung is linked once more, with other rungs of its ladder answering NOT_IMPLEMENTED.
Only a case that comes back right is the rung's own: by its status alone it could claim
what others compute. What is left to `fallback` is named and does not count for the
rung; a rung called by another name is its own choice, as where the last one of a ladder
chooses by shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from grader.checks.check_result import Stopped
from grader.checks.subject import Subject
from grader.checks.values.compare import judge
from grader.checks.values.prepared import expected_of, prepare
from grader.closing import Closing
from grader.course.rungs import DIRECT, HALF, Rung
from grader.course.tasks import all_tasks
from grader.course.uses import LOWER, Use
from grader.operators import Case, Operator
from grader.toolchain.linking import Links
from grader.toolchain.products import Build

Key = tuple[str, frozenset[str], str]  # a rung, what it is without, a direction


class Alone(Closing):
    """Rungs without what they use, each with a worker of its own. Close it when done.

    A worker has 11 descriptors, and Debian gives a process 1024: the one that was used
    longest ago is ended.
    """

    MOST = 24

    def __init__(self) -> None:
        self._kept: dict[Key, Subject] = {}

    def get(self, key: Key, make: Callable[[], Subject]) -> Subject:
        """The rung of a key, made if it is not there."""
        kept = self._kept.pop(key) if key in self._kept else make()
        self._kept[key] = kept  # behind all others: the first one is ended first
        while len(self._kept) > self.MOST:
            self._kept.pop(next(iter(self._kept))).close()
        return kept

    def close(self) -> None:
        """End all workers."""
        while self._kept:
            self._kept.popitem()[1].close()


class Servers(Closing):
    """Asks the rungs of one ladder; keeps their workers. Close it when done."""

    def __init__(
        self,
        links: Links,
        operator: Operator,
        seed: int,
        mode: str = "release",
        alone: Alone | None = None,
    ) -> None:
        """`mode`: the build that is asked. A card computes cases that are too large for
        cusim. `alone`: workers that several ladders share.
        """
        self.links, self.operator, self.seed, self.mode = links, operator, seed, mode
        self._alone = alone or Alone()
        self._built: dict[str, Build] = {}

    def close(self) -> None:
        """End all workers."""
        self._alone.close()

    def left(self, rung: Rung, case: Case, direction: str) -> str:
        """Who computes what a rung leaves to its fallback: a rung's id or that of a
        given object; "" if the rung does without it.
        """
        lower = [use for use in _lower(rung) if use.alias == LOWER]
        return self._needs(rung, lower, case, direction)

    def computes(self, rung: Rung, case: Case, direction: str) -> str:
        """Who does the work in the end, through any number of calls: a rung's id or
        that of a given object. Of backward ask for one gradient at a time (`parts`).
        """
        return list(self.chain(rung, case, direction))[-1]

    def chain(self, rung: Rung, case: Case, direction: str) -> Iterator[str]:
        """The rungs that a case passes through, down to the one that computes it; not
        among them who leaves it to a fallback. Below a rung that makes another case of
        it, as by dealing out images, they are those of the case itself.
        """
        lower = _lower(rung)
        asked = lower if self._needs(rung, lower, case, direction) else []
        for use in asked:
            name = self._needs(rung, [use], case, direction)
            if not name:
                continue
            if use.alias != LOWER:
                yield rung.id
            known = {r.id: r for task in all_tasks() for r in task.rungs}
            below = known.get(name)
            if below and direction in self._build(below).directions:
                yield from self.chain(below, case, direction)
            else:
                yield name  # by its other direction, of a case that is its own
            return
        yield rung.id

    def parts(self, case: Case, direction: str) -> Iterator[tuple[str, Case]]:
        """The results of a call by name, each with a case that asks for it alone."""
        if direction == "forward":
            yield self.operator.signature.outputs[0].name, case
            return
        names = self.operator.signature.gradients
        for name, wanted in zip(names, self.operator.wanted(case)):
            if wanted:
                yield f"grad_{name}", replace(case, wanted=(name,))

    def _needs(self, rung: Rung, uses: list[Use], case: Case, direction: str) -> str:
        """What serves one of these uses, if the case is not computed without them."""
        if not uses:
            return ""
        built = self._build(rung)
        names = [
            built.uses.get(use.alias) or built.uses.get(f"{use.alias}_{direction}", "")
            for use in uses
        ]
        if not any(names) or not built.libraries:
            return ""
        subject = self._without(rung, frozenset(u.alias for u in uses), direction)
        if _is_right(subject, case, direction, _dtype(rung), self.seed):
            return ""
        return next(name for name in names if name)

    def _build(self, rung: Rung) -> Build:
        if rung.id not in self._built:
            self._built[rung.id] = self.links.build(rung, mode=self.mode)
        return self._built[rung.id]

    def _without(self, rung: Rung, aliases: frozenset[str], direction: str) -> Subject:
        dtype = _dtype(rung)

        def make() -> Subject:
            usual = self._build(rung)
            made = self.links.build(rung, mode=self.mode, without=aliases)
            bare = made.libraries[dtype]
            first = back = usual.libraries[dtype]
            if self.operator.signature.saved:
                forward = self.links.forward_for(rung, usual, self.mode)
                first = forward.libraries[dtype]
            pair = (bare, back) if direction == "forward" else (first, bare)
            subject = Subject(self.operator, libraries={dtype: pair})
            subject.classes = self._loosest(rung)
            return subject

        subject = self._alone.get((rung.id, aliases, direction), make)
        subject.begin()
        return subject

    def _loosest(self, rung: Rung) -> Callable[[Case, str], str]:
        """The rung's class, else one of its ladder: which file computes a result is not
        known yet, and what is compared was found right in its own class.
        """
        ladder = (r for t in all_tasks() if t.id == rung.task for r in t.rungs)
        known = [rung.numerics, *(other.numerics for other in ladder)]
        found = next((kind for kind in known if kind != DIRECT), DIRECT)
        return lambda case, result: found


def _dtype(rung: Rung) -> str:
    """In which dtype a rung is asked: f16 if it computes nothing in float."""
    return "f16" if rung.numerics == HALF else "f32"


def _is_right(
    subject: Subject, case: Case, direction: str, dtype: str, seed: int
) -> bool:
    """Whether a call comes back with the right numbers."""
    made = prepare(subject, case, 0, direction, dtype, seed)
    try:
        if subject.run(made.call, case, dtype):
            return False
    except Stopped:
        return False
    wanted = expected_of(subject, case, made, direction)
    return not any(
        judge(made.call, k, expected, names=subject.names())
        for k, expected in wanted.items()
    )


def _lower(rung: Rung) -> list[Use]:
    """The uses of a rung that stay within its ladder."""
    return [use for use in rung.uses if use.within(rung.task)]


class Classes:
    """The numerics class of each result of a rung: that of the file which computes it,
    or of the first one on the way there that has another than `direct`: what it makes
    of a case for the rung below is computed in its class.

    `rungs` are, by direction, the files that are called.
    """

    def __init__(self, servers: Servers, rungs: dict[str, Rung]) -> None:
        self.servers, self.rungs = servers, rungs
        self._known: dict[tuple[str, str], str] = {}
        tasks = {rung.task for rung in rungs.values()}
        self._of = {
            r.id: r.numerics for t in all_tasks() if t.id in tasks for r in t.rungs
        }

    def __call__(self, case: Case, result: str) -> str:
        """The class of a result ("output", "grad_input") in a case."""
        direction = "backward" if result.startswith("grad_") else "forward"
        rung = self.rungs.get(direction)
        if rung is None or set(self._of.values()) <= {DIRECT}:
            return DIRECT
        key = (repr(case), result)
        if key not in self._known:
            parts = dict(self.servers.parts(case, direction))
            way = self.servers.chain(rung, parts.get(result, case), direction)
            kinds = (self._of.get(name, DIRECT) for name in way)
            self._known[key] = next((k for k in kinds if k != DIRECT), DIRECT)
        return self._known[key]
