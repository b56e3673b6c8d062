# SPDX-License-Identifier: MIT
"""Grades every drawn mutation of a CUDA rung with the whole grader: who survives?

    python -m tests.proofs.mutations.run_cuda [--list FILE.json] [--jobs 2]
        [--only c12 ...]
                                       [--as-is] [--write]

Each is graded as `make grade` grades that rung alone, without speed and nvcc, up to the
first verdict that is not PASS; values of both directions come first, and reasons are
not looked for. What a verdict of the
grader's own fault or a pending one lets through has survived. `--as-is` grades the
files unchanged first: they have to pass. Survivors are argued in equivalent_cuda.toml;
`--write` keeps the outcome in results_cuda.json and docs/results/mutations_cuda.md.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Container, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from signatures import DIRECTIONS

from grader.checks.check_result import CheckResult
from grader.course.rungs import Rung, Selection
from grader.course.tasks import all_tasks
from grader.engine.grade import Grader, Look, new_seed
from grader.engine.inspect_cuda import DeviceInspection
from grader.engine.score import RungResult
from grader.runner.supervisor.session import cpu
from grader.toolchain import cusim, make, products
from grader.verdicts import Verdict
from tests import PROGRAMS, ROOT
from tests.proofs.mutations.draw import Mutation
from tests.proofs.mutations.draw_cuda import DRAWN, KINDS, committed, kind_of
from tests.proofs.mutations.run import controls, reasons

RESULTS = PROGRAMS / "mutations" / "results_cuda.json"
EQUIVALENT = PROGRAMS / "mutations" / "equivalent_cuda.toml"
TABLE = ROOT / "docs" / "results" / "mutations_cuda.md"


@dataclass(frozen=True)
class Outcome:
    """What the grader said of one mutation."""

    mutation: Mutation
    kind: str
    seed: int
    verdict: str
    where: str  # the check that gave it
    message: str
    seconds: float

    @property
    def rejected(self) -> bool:
        """Whether it costs points; what is pending does not."""
        return not Verdict(self.verdict).ok


# ---- grading one ---------------------------------------------------------------------


class Once(Grader):
    """Ends at the first verdict that is not PASS. Lower rungs are taken to be right."""

    def __init__(self, selection: Selection, seed: int) -> None:
        super().__init__(selection, seed=seed)
        self.links.verify = lambda rung, direction: True
        self.lending.is_right = lambda *_: True  # type: ignore[method-assign]

    def _inspection(self, *words: Any) -> Any:
        look = super()._inspection(*words)
        assert isinstance(look, DeviceInspection)
        look._with_reason = (  # type: ignore[method-assign]
            lambda result, cases: result
        )
        return look

    def _checks(
        self,
        subject: Any,
        rung: Rung,
        look: Look,
        directions: tuple[str, ...] = DIRECTIONS,
        lent: Container[str] = (),
    ) -> list[CheckResult]:
        """Values and gradients first, then what takes longer: order, memory, races."""
        found = super()._checks(subject, rung, lambda r, *_: r, directions, lent)
        cases = subject.operator.cases(self.seed)
        for direction in directions:
            if all(result.verdict is Verdict.PASS for result in found):
                of = [result for result in found if result.direction == direction]
                found = [*found, *look(of, direction, cases)[len(of) :]]
        return found

    def _gradient(self, *words: Any, with_gradcheck: bool) -> list[CheckResult]:
        if not with_gradcheck:  # forward has its verdict
            return []
        return super()._gradient(*words, with_gradcheck=True)


def grade(mutation: Mutation, seed: int) -> Outcome:
    """Build and check one mutation."""
    start = time.perf_counter()
    original = ROOT / mutation.file
    with tempfile.TemporaryDirectory(prefix="mutant-", dir=ROOT / "build") as folder:
        copy = Path(folder) / mutation.file
        copy.parent.mkdir(parents=True)
        copy.write_text(mutation.apply(original.read_text()))
        result = _graded(mutation, copy, seed)
    found = next((c for c in result.checks if c.verdict is not Verdict.PASS), None)
    return Outcome(
        mutation,
        kind_of(mutation) if mutation.old else "as is",
        seed,
        str(found.verdict if found else Verdict.PASS),
        f"{found.direction} {found.name}" if found else "",
        found.message if found else "",
        round(time.perf_counter() - start, 1),
    )


def _graded(mutation: Mutation, copy: Path, seed: int) -> RungResult:
    """The rung with another file in its place; lower ones where they lend something."""
    _, lab, operator, name = mutation.file.split("/")
    task = next(t for t in all_tasks() if t.id == f"{lab}/{operator}")
    rung = next(r for r in task.rungs if r.file.name == name)
    text = copy.read_text()
    alone = all(f"{operator}_{d}(" in text for d in ("forward", "backward"))
    lower = () if alone else tuple(r for r in task.rungs if r.id < rung.id)
    changed = replace(rung, file=copy)
    task = replace(task, rungs=(*lower, changed), speed=None)
    selection = Selection((task,), frozenset({changed.id}), whole=False)
    with Once(selection, seed) as grader:
        (done,) = grader.run()
    return done.rungs[0]


# ---- all of them ---------------------------------------------------------------------


def grade_all(mutations: list[Mutation], *, jobs: int) -> Iterator[Outcome]:
    """Grade with several jobs, each on a core of its own; one at a time builds."""
    context = get_context("spawn")
    cores = context.Queue()
    for core in sorted(os.sched_getaffinity(0))[:jobs]:
        cores.put(core)
    with ProcessPoolExecutor(
        jobs, context, initializer=_settle, initargs=(cores, context.Lock())
    ) as pool:
        waiting = [pool.submit(grade, m, new_seed()) for m in mutations]
        for one in waiting:
            yield one.result()


def _settle(cores: Any, lock: Any) -> None:
    os.environ.update(SPEED="off", NVCC="none")
    os.sched_setaffinity(0, {cores.get()})
    cpu()  # remembered: workers go there too
    run = make.run_make

    def in_turn(*words: Any, **named: Any) -> Any:
        with lock:  # they share a build folder
            return run(*words, **named)

    products.run_make = cusim.run_make = in_turn


def argued() -> dict[str, tuple[str, str]]:
    """The survivors: "equivalent" or "hole", and why."""
    if not EQUIVALENT.exists():
        return {}
    known = {}
    for name, entry in reasons(EQUIVALENT, committed()[0]).items():
        assert entry["fate"] in ("equivalent", "hole"), name
        known[name] = (entry["fate"], entry["reason"])
    return known


# ---- telling -------------------------------------------------------------------------


def line(outcome: Outcome) -> str:
    """One mutation for the terminal."""
    m = outcome.mutation
    word = "rejected" if outcome.rejected else "SURVIVED" if m.old else "passed"
    return (
        f"{m.id} {word} {outcome.verdict:14} {outcome.kind:9} {m.place} {m.change}  "
        f"seed {outcome.seed} {outcome.seconds:.1f} s  {outcome.where}: "
        f"{outcome.message[:120]}"
    )


def fate(outcome: Outcome, known: dict[str, tuple[str, str]]) -> str:
    """rejected, equivalent, hole, or survived: nobody has looked at it yet."""
    if outcome.rejected:
        return "rejected"
    return known.get(outcome.mutation.id, ("survived", ""))[0]


def summary(outcomes: list[Outcome], known: dict[str, tuple[str, str]]) -> str:
    """How many of each fate, and the verdicts that rejected them."""
    fates = Counter(fate(outcome, known) for outcome in outcomes)
    verdicts = Counter(o.verdict for o in outcomes if o.rejected)
    words = ", ".join(f"{name} {count}" for name, count in verdicts.most_common())
    rest = ", ".join(f"{n} {name}" for name, n in fates.items() if name != "rejected")
    return (
        f"{len(outcomes)} mutations: {fates['rejected']} rejected ({words}); "
        f"{rest or 'none survived'}"
    )


def by_kind(outcomes: list[Outcome]) -> list[str]:
    """A row for each kind of mutation."""
    rows = ["| kind | drawn | rejected | verdicts |", "|---|--:|--:|---|"]
    for kind in KINDS:
        of = [o for o in outcomes if o.kind == kind]
        verdicts = Counter(o.verdict for o in of if o.rejected).most_common()
        words = ", ".join(f"{name} {count}" for name, count in verdicts)
        rows.append(f"| {kind} | {len(of)} | {sum(o.rejected for o in of)} | {words} |")
    return rows


def cell(text: str) -> str:
    """Text that a cell of a table can hold."""
    return text.replace("|", "\\|").replace("\n", " ")


def table(outcomes: list[Outcome], known: dict[str, tuple[str, str]]) -> str:
    """docs/results/mutations_cuda.md."""
    rows = []
    for outcome in outcomes:
        m, why = outcome.mutation, known.get(outcome.mutation.id, ("", ""))[1]
        said = f"{outcome.where}: {outcome.message}" if outcome.rejected else why
        if outcome.rejected and len(said) > 160:
            said = said[:157] + "..."
        place = m.place.removeprefix("labs/04_cuda_kernels/")
        rows.append(
            f"| {m.id} | {outcome.kind} | {place} | `{cell(m.old)}` -> `{cell(m.new)}` "
            f"| {fate(outcome, known)} | {outcome.verdict} | {cell(said)} |"
        )
    return "\n".join(
        [
            "# One token of a CUDA rung changed: what the grader lets pass",
            "",
            "Written by `python -m tests.proofs.stress mutations --lab 04`. The list",
            "was drawn by `draw_cuda.py` beside it, over all rungs that cusim runs,",
            "and committed before the first run. A mutation is graded without a GPU,",
            "up to its first verdict that is not PASS. Survivors are argued one by one",
            "in `programs/mutations/equivalent_cuda.toml`: *equivalent*, or a *hole*.",
            "",
            f"{summary(outcomes, known)}.",
            "",
            *by_kind(outcomes),
            "",
            "| id | kind | place | change | | verdict | message, or why it survives |",
            "|---|---|---|---|---|---|---|",
            *rows,
            "",
        ]
    )


def keep(outcomes: list[Outcome]) -> None:
    """results_cuda.json: one outcome a line."""
    entries = ",\n".join(json.dumps(asdict(outcome)) for outcome in outcomes)
    RESULTS.write_text(f"[\n{entries}\n]\n")


def read_results() -> list[Outcome]:
    """What the last run kept."""
    return [
        Outcome(**{**entry, "mutation": Mutation(**entry["mutation"])})
        for entry in json.loads(RESULTS.read_text())
    ]


def main(words: list[str]) -> int:
    """Grade and tell; 1 if something survived that nobody has argued about."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", type=Path, default=DRAWN)
    parser.add_argument("--only", nargs="+", default=[], help="grade these ids")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--as-is", action="store_true", help="the files first")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--table", action="store_true", help="anew, of the last run")
    arguments = parser.parse_args(words)
    if arguments.table:
        TABLE.write_text(table(read_results(), argued()))
        return 0
    if arguments.write and (arguments.only or arguments.list != DRAWN):
        parser.error("--write keeps the whole list: without --only and --list")
    mutations, _ = committed(arguments.list)
    if arguments.only:
        mutations = [m for m in mutations if m.id in arguments.only]
    first = controls(mutations) if arguments.as_is else []
    make.build_tools()
    cusim.build_tools()
    outcomes = []
    for outcome in grade_all([*first, *mutations], jobs=arguments.jobs):
        print(line(outcome), flush=True)
        outcomes.append(outcome)
        if arguments.write:  # a run that is stopped is not lost
            keep([o for o in outcomes if o.mutation.old])
    if any(o.rejected for o in outcomes if not o.mutation.old):
        print("a file as it is did not pass: nothing is shown by what was rejected")
        return 2
    outcomes = [outcome for outcome in outcomes if outcome.mutation.old]
    known = argued() if arguments.list == DRAWN else {}
    print(summary(outcomes, known))
    if arguments.write:
        TABLE.write_text(table(outcomes, known))
    return int(any(fate(outcome, known) == "survived" for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
