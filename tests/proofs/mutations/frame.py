# SPDX-License-Identifier: MIT
"""The frame of run.py and run_cuda.py: grades a drawn list, keeps who survives.

    python -m tests.proofs.mutations.run [--sample N] [--seed S] [--only m012 ...]
        [--list FILE] [--jobs 2] [--as-is] [--table] [--write [--resume]]

Each mutation is graded in a folder of its own and with a seed of its own, so that no
two runs ask the same questions. `--as-is` grades the files unchanged first: they have
to pass, or else nothing would be shown. `--write` keeps the outcomes in results*.json
and the page in docs/results. `--resume` leaves those outcomes as they are whose
mutations stand in the list as they were graded, but for those that `--only` names.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from grader.engine.grade import new_seed
from grader.runner.supervisor.cores import cpu
from grader.verdicts import Verdict
from tests import PROGRAMS, ROOT, put_rung
from tests.proofs.mutations.draw import Mutation, committed, lot
from tests.proofs.pages import cell, table

FOLDER = PROGRAMS / "mutations"


@dataclass(frozen=True)
class Outcome:
    """What the grader said of one mutation."""

    mutation: Mutation
    seed: int
    message: str  # of the first check that failed
    seconds: float

    @property
    def verdicts(self) -> tuple[str, ...]:
        """All that were given."""
        raise NotImplementedError

    @property
    def caught(self) -> bool:
        """Whether it costs points; what is pending does not."""
        return not all(Verdict(v).ok for v in self.verdicts)

    @property
    def cells(self) -> list[str]:
        """What the page says of it besides its place, its change and its fate."""
        return list(self.verdicts)


def verdicts_of(outcomes: list[Outcome]) -> str:
    """The verdicts that caught them, each with its number."""
    first = Counter(
        next(v for v in o.verdicts if not Verdict(v).ok) for o in outcomes if o.caught
    )
    return ", ".join(f"{name} {count}" for name, count in first.most_common())


@contextmanager
def mutated(mutation: Mutation) -> Iterator[Path]:
    """A copy of the mutation's file, in the repository, with the token changed."""
    with copied(mutation.file, mutation.apply((ROOT / mutation.file).read_text())) as c:
        yield c


@contextmanager
def copied(file: str, text: str) -> Iterator[Path]:
    """Another text for a file, in a folder of its own in the repository."""
    (ROOT / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="mutant-", dir=ROOT / "build") as folder:
        yield put_rung(Path(folder), file, text)


@contextmanager
def processes(jobs: int, ready: Callable[[Any], None]) -> Iterator[ProcessPoolExecutor]:
    """So many, each on a core of its own; each calls `ready` with a lock they share."""
    context = get_context("spawn")
    cores = context.Queue()
    for core in sorted(os.sched_getaffinity(0), reverse=True)[:jobs]:
        cores.put(core)
    given = cores, context.Lock(), ready
    with ProcessPoolExecutor(jobs, context, _settle, given) as pool:
        yield pool


def _settle(cores: Any, lock: Any, ready: Callable[[Any], None]) -> None:
    os.sched_setaffinity(0, {cores.get()})
    cpu()  # remembered: workers go there too
    ready(lock)


@dataclass(frozen=True)
class Proof:
    """What is asked of the mutations of one list, and where the answers are kept."""

    kind: str  # in the names of its files: "" or "_cuda"
    outcome: type[Outcome]
    committed: Callable[[], tuple[list[Mutation], dict[str, str]]]
    grade: Callable[[Mutation, int], Outcome]
    prepare: Callable[[], None]  # once
    ready: Callable[[Any], None]  # in each process, with a lock that all share
    page: str  # with {summary} and {kinds} in it
    head: tuple[str, ...]  # of the columns that `cells` fills
    kinds: Callable[[list[Any]], list[str]] = lambda _: []  # a table of its own

    @property
    def results(self) -> Path:
        """The outcomes of the last run."""
        return FOLDER / f"results{self.kind}.json"

    def keep(self, outcomes: list[Outcome]) -> None:
        """One outcome a line."""
        entries = ",\n".join(json.dumps(asdict(outcome)) for outcome in outcomes)
        self.results.write_text(f"[\n{entries}\n]\n")

    def read(self) -> list[Any]:
        """What the last run kept."""
        return [
            self.outcome(**{**entry, "mutation": Mutation(**entry["mutation"])})
            for entry in json.loads(self.results.read_text())
        ]

    def standing(
        self, mutations: list[Mutation], arguments: argparse.Namespace
    ) -> list[Any]:
        """What the last run kept of these, but for those that `--only` names."""
        wanted = {replace(m, id=""): m for m in mutations}  # a new draw numbers anew
        standing = []
        for outcome in self.read() if self.results.is_file() else []:
            mutation = wanted.get(replace(outcome.mutation, id=""))
            if mutation and mutation.id not in arguments.only:
                standing.append(replace(outcome, mutation=mutation))
        return standing

    def argued(self) -> dict[str, tuple[str, str]]:
        """The survivors: "equivalent" or "hole", and why.

        Raises ValueError if one was not drawn so.
        """
        file = FOLDER / f"equivalent{self.kind}.toml"
        drawn = {m.id: [m.place, m.change] for m in self.committed()[0]}
        reasons = {}
        for name, entry in tomllib.loads(file.read_text()).items():
            if drawn.get(name) != [entry["place"], entry["change"]]:
                raise ValueError(f"{file.name}: {name} is not what was drawn")
            reasons[name] = (entry.get("fate", "equivalent"), entry["reason"])
        assert {fate for fate, _ in reasons.values()} <= {"equivalent", "hole"}
        return reasons

    def graded(self, mutations: list[Mutation], jobs: int) -> Iterator[Outcome]:
        """Grade in order with several jobs, each on a core of its own."""
        with processes(jobs, self.ready) as pool:
            waiting = [pool.submit(self.grade, m, new_seed()) for m in mutations]
            for one in waiting:
                yield one.result()

    def written_page(
        self, outcomes: list[Outcome], reasons: dict[str, tuple[str, str]]
    ) -> str:
        """The page of docs/results."""
        rows = []
        for o in outcomes:
            m, (fate, why) = o.mutation, fate_of(o, reasons)
            change = f"`{m.old}` -> `{m.new or 'nothing'}`"
            row = [m.id, m.place.removeprefix("labs/"), change, fate, *o.cells]
            rows.append([*map(cell, row), cell(o.message if o.caught else why, 200)])
        head = ["id", "place", "change", "", *self.head, "message, or why it survives"]
        kinds = "\n".join(self.kinds(outcomes))
        page = self.page.format(summary=summary(outcomes, reasons), kinds=kinds)
        return "\n".join([page, *table(head, rows, words=len(head)), ""])

    def main(self, words: list[str]) -> int:
        """Grade and tell; 1 if something survived that nobody has argued about."""
        arguments = parsed(words)
        page = ROOT / "docs" / "results" / f"mutations{self.kind}.md"
        reasons = {} if arguments.list else self.argued()
        if arguments.table:
            page.write_text(self.written_page(self.read(), reasons))
            return 0
        mutations = chosen(self.committed()[0], arguments)
        outcomes = self.standing(mutations, arguments) if arguments.resume else []
        done = {outcome.mutation for outcome in outcomes}
        place = {mutation: i for i, mutation in enumerate(mutations)}
        mutations = [mutation for mutation in mutations if mutation not in done]
        self.prepare()
        first = controls(mutations) if arguments.as_is else []
        for outcome in self.graded([*first, *mutations], arguments.jobs):
            print(line(outcome), flush=True)
            if outcome.mutation not in first:
                outcomes.append(outcome)
            elif outcome.caught:
                print("a file as it is did not pass: nothing is shown by the others")
                return 2
            if arguments.write:  # a run that is stopped is not lost
                outcomes.sort(key=lambda o: place[o.mutation])
                self.keep(outcomes)
        print(summary(outcomes, reasons))
        if arguments.write:
            page.write_text(self.written_page(outcomes, reasons))
        return int(any(fate_of(o, reasons)[0] == "survived" for o in outcomes))


def parsed(words: list[str]) -> argparse.Namespace:
    """The command line of both programs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--list", type=Path, help="another than the committed one")
    parser.add_argument("--sample", type=int, help="grade so many, drawn by --seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", default=[], help="grade these ids")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--as-is", action="store_true", help="the files first")
    parser.add_argument("--table", action="store_true", help="anew, of the last run")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--resume", action="store_true", help="grade what is missing")
    arguments = parser.parse_args(words)
    some = arguments.list or arguments.sample
    if arguments.write and (some or (arguments.only and not arguments.resume)):
        parser.error("--write keeps the whole committed list")
    return arguments


def chosen(mutations: list[Mutation], arguments: argparse.Namespace) -> list[Mutation]:
    """Those that the command line asks for."""
    if arguments.list:
        mutations, _ = committed(arguments.list)
    if arguments.sample:
        mutations = sample(mutations, arguments.sample, arguments.seed)
    if arguments.resume or not arguments.only:
        return mutations
    return [m for m in mutations if m.id in arguments.only]


def controls(mutations: list[Mutation]) -> list[Mutation]:
    """Mutations of nothing: the files of these as they are."""
    files = sorted({mutation.file for mutation in mutations})
    return [Mutation("as is", file, 1, 0, "", "") for file in files]


def sample(mutations: list[Mutation], count: int, seed: int) -> list[Mutation]:
    """Some of them, the same for the same seed, in the order of the list."""
    drawn = sorted(mutations, key=lambda m: lot("sample", seed, m.id))[:count]
    return sorted(drawn, key=lambda m: m.id)


def line(outcome: Outcome) -> str:
    """One mutation for the terminal."""
    m = outcome.mutation
    word = "caught" if outcome.caught else "SURVIVED" if m.old else "passed"
    cells = " ".join(f"{cell:14}" for cell in outcome.cells)
    return (
        f"{m.id} {word:8} {cells} {m.place} {m.change}  seed {outcome.seed} "
        f"{outcome.seconds:.1f} s  {outcome.message[:160]}"
    )


def fate_of(o: Outcome, reasons: dict[str, tuple[str, str]]) -> tuple[str, str]:
    """caught, equivalent, hole, or survived (nobody has looked at it yet), and why."""
    return ("caught", "") if o.caught else reasons.get(o.mutation.id, ("survived", ""))


def summary(outcomes: list[Outcome], reasons: dict[str, tuple[str, str]]) -> str:
    """How many of each fate, and the verdicts that caught them."""
    fates = Counter(fate_of(outcome, reasons)[0] for outcome in outcomes)
    caught = f"{fates.pop('caught', 0)} caught ({verdicts_of(outcomes)})"
    rest = ", ".join(f"{count} {name}" for name, count in fates.items())
    return f"{len(outcomes)} mutations: {caught}; {rest or 'none survived'}"
