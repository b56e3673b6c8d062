# SPDX-License-Identifier: MIT
"""Grades every drawn mutation with the grader's own checks: who survives?

    python -m tests.proofs.mutations.run [--sample N] [--seed S] [--jobs 2]
        [--only m012 ...]
                                  [--write]

A mutation is caught if forward or backward (through the module too) is wrong in the
grader's eyes; a verdict that is the grader's own fault catches nothing. Each is graded
in a folder of its own and with a seed of its own, so that no two runs ask the same
questions; and first the file as it is, which has to pass, or else nothing would be
shown. Survivors are looked at by equivalent.py. `--write` keeps the outcome in
results.json and docs/results/mutations.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from grader.checks.check_result import CheckResult
from grader.course.rungs import Rung, Selection
from grader.engine.grade import Grader, new_seed
from grader.runner.supervisor.session import Worker, cpu, pin
from grader.toolchain.make import build_folder, build_tools
from grader.verdicts import Verdict
from tests import PROGRAMS, ROOT
from tests.proofs.mutations.draw import Mutation, committed, lot

RESULTS = PROGRAMS / "mutations" / "results.json"
EQUIVALENT = PROGRAMS / "mutations" / "equivalent.toml"
TABLE = ROOT / "docs" / "results" / "mutations.md"
DIRECTIONS = ("forward", "backward")


@dataclass(frozen=True)
class Outcome:
    """What the grader said of one mutation."""

    mutation: Mutation
    seed: int
    forward: str  # verdicts
    backward: str
    message: str  # of the first check that failed
    seconds: float

    @property
    def caught(self) -> bool:
        """Whether it costs points; what is pending does not."""
        return not all(Verdict(v).ok for v in (self.forward, self.backward))


# ---- grading one ---------------------------------------------------------------------


class Bench:
    """Grades mutations one after the other; a Python worker always starts ahead."""

    def __init__(self, *, python_left: int) -> None:
        self._left = python_left
        self._spare: Worker | None = None
        self._warm_up()

    def grade(self, mutation: Mutation, seed: int) -> Outcome:
        """Build and check one mutation."""
        start = time.perf_counter()
        original = ROOT / mutation.file
        build_folder().mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(
            prefix="mutant-", dir=build_folder()
        ) as folder:
            copy = Path(folder) / mutation.file
            copy.parent.mkdir(parents=True)
            copy.write_text(mutation.apply(original.read_text()))
            checks = list(self._checks(mutation, copy, seed))
        failed = [check for check in checks if check.verdict is not Verdict.PASS]
        verdicts = [
            next((c.verdict for c in failed if c.direction == d), Verdict.PASS)
            for d in DIRECTIONS
        ]
        return Outcome(
            mutation,
            seed,
            str(verdicts[0]),
            str(verdicts[1]),
            failed[0].message if failed else "",
            round(time.perf_counter() - start, 1),
        )

    def close(self) -> None:
        """End the worker that was started ahead."""
        if self._spare:
            self._spare.end()
            self._spare = None

    def _warm_up(self) -> None:
        if self._left > 0 and self._spare is None:
            self._spare = Worker.for_python()
            self._left -= 1

    def _checks(self, mutation: Mutation, copy: Path, seed: int) -> list[CheckResult]:
        import torch  # after the first worker was started

        from grader import operators
        from grader.checks.subject import Subject

        torch.set_num_threads(1)
        pin()
        _, lab, name, _ = mutation.file.split("/")
        operator = operators.get(name)
        if copy.suffix == ".py":
            self._warm_up()
            warm, self._spare = self._spare, None
            self._warm_up()
            subject = Subject(operator, source=copy, shown=mutation.file, warm=warm)
        else:
            built = build(copy, mutation.file)
            if isinstance(built, str):
                return [CheckResult("build", "forward", Verdict.BUILD, message=built)]
            libraries = {dtype: (path, path) for dtype, path in built.items()}
            subject = Subject(operator, libraries=libraries)
        grader = Grader(Selection((), frozenset(), whole=False), seed=seed)
        try:
            rung = Rung(f"{lab}/{name}", copy)
            return grader._checks(subject, rung, _unexplained)
        finally:
            subject.close()


def _unexplained(
    results: list[CheckResult], direction: str, cases: object
) -> list[CheckResult]:
    """Verdicts only: values and gradients have to catch a mutation, reasons do not."""
    return results


def build(copy: Path, file: str) -> dict[str, Path] | str:
    """A C rung as one library for each dtype, by the rules every rung is built with."""
    folder = Path(str(copy).removesuffix(file))
    rules = ROOT / "common" / "rung.mk"
    done = subprocess.run(
        ["make", "-s", "-j2", "-f", str(rules), f"RUNG={file}", "BUILD=build"],
        cwd=folder,
        env={k: v for k, v in os.environ.items() if not k.startswith("MAKE")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )
    if done.returncode:
        errors = [line for line in done.stdout.splitlines() if "error:" in line]
        return (errors or done.stdout.splitlines() or ["no output"])[0]
    stem = folder / "build" / "rungs" / "release" / file.removeprefix("labs/")
    return {dtype: stem.with_suffix(f".{dtype}.so") for dtype in ("f32", "f64")}


# ---- all of them ---------------------------------------------------------------------


def grade(mutations: list[Mutation], *, jobs: int = 1) -> Iterator[Outcome]:
    """Grade in order; with several jobs each takes its share on a core of its own."""
    seeds = [new_seed() for _ in mutations]
    if jobs == 1:
        yield from _share(mutations, seeds)
        return
    context = get_context("spawn")
    cores = context.Queue()
    for core in sorted(os.sched_getaffinity(0), reverse=True)[:jobs]:
        cores.put(core)
    with ProcessPoolExecutor(
        jobs, context, initializer=_take_core, initargs=(cores,)
    ) as pool:
        shares = [
            pool.submit(_listed, mutations[i::jobs], seeds[i::jobs])
            for i in range(jobs)
        ]
        for share in shares:
            yield from share.result()


def _share(mutations: list[Mutation], seeds: list[int]) -> Iterator[Outcome]:
    bench = Bench(python_left=sum(m.file.endswith(".py") for m in mutations))
    try:
        for mutation, seed in zip(mutations, seeds, strict=True):
            yield bench.grade(mutation, seed)
    finally:
        bench.close()


def _listed(mutations: list[Mutation], seeds: list[int]) -> list[Outcome]:
    made = []
    for outcome in _share(mutations, seeds):
        print(line(outcome), flush=True)
        made.append(outcome)
    return made


def _take_core(cores: Any) -> None:
    os.sched_setaffinity(0, {cores.get()})
    cpu()  # remembered: workers go there too


def controls(mutations: list[Mutation]) -> list[Mutation]:
    """Mutations of nothing: the files of these as they are."""
    files = sorted({mutation.file for mutation in mutations})
    return [Mutation("as is", file, 1, 0, "", "") for file in files]


def sample(mutations: list[Mutation], count: int, seed: int) -> list[Mutation]:
    """Some of them, the same for the same seed, in the order of the list."""
    chosen = sorted(mutations, key=lambda m: lot("sample", seed, m.id))[:count]
    return sorted(chosen, key=lambda m: m.id)


def equivalents() -> dict[str, str]:
    """The survivors shown to compute the same as the reference, and why each does."""
    entries = reasons(EQUIVALENT, committed()[0])
    return {name: entry["reason"] for name, entry in entries.items()}


def reasons(file: Path, drawn: list[Mutation]) -> dict[str, dict[str, str]]:
    """What is argued of survivors, by id. Raises ValueError if one was not drawn so."""
    known = {mutation.id: [mutation.place, mutation.change] for mutation in drawn}
    entries: dict[str, dict[str, str]] = tomllib.loads(file.read_text())
    for name, entry in entries.items():
        if known.get(name) != [entry["place"], entry["change"]]:
            raise ValueError(f"{file.name}: {name} is not what was drawn")
    return entries


# ---- telling -------------------------------------------------------------------------


def line(outcome: Outcome) -> str:
    """One mutation for the terminal."""
    mutation = outcome.mutation
    word = "caught" if outcome.caught else "SURVIVED" if mutation.old else "passed"
    return (
        f"{mutation.id} {word:8} {outcome.forward:14} {outcome.backward:14} "
        f"{mutation.place} {mutation.change}  seed {outcome.seed} "
        f"{outcome.seconds:.1f} s  {outcome.message[:160]}"
    )


def fate(outcome: Outcome, known: dict[str, str]) -> str:
    """caught, equivalent, or survived."""
    if outcome.caught:
        return "caught"
    return "equivalent" if outcome.mutation.id in known else "survived"


def summary(outcomes: list[Outcome], known: dict[str, str]) -> str:
    """How many of each fate, and the verdicts that caught them."""
    fates = Counter(fate(outcome, known) for outcome in outcomes)
    verdicts = Counter(
        next(v for v in (o.forward, o.backward) if not Verdict(v).ok)
        for o in outcomes
        if o.caught
    )
    words = ", ".join(f"{name} {count}" for name, count in verdicts.most_common())
    return (
        f"{len(outcomes)} mutations: {fates['caught']} caught ({words}), "
        f"{fates['equivalent']} equivalent, {fates['survived']} survived"
    )


def table(outcomes: list[Outcome], known: dict[str, str]) -> str:
    """docs/results/mutations.md."""
    rows = []
    for outcome in outcomes:
        m, why = outcome.mutation, known.get(outcome.mutation.id, "")
        said = outcome.message if outcome.caught else why
        said = said.replace("|", "\\|").replace("\n", " ")[:200]
        place = m.place.removeprefix("labs/")
        old, new = (text.replace("|", "\\|") for text in (m.old, m.new or "nothing"))
        rows.append(
            f"| {m.id} | {place} | `{old}` -> `{new}` | {fate(outcome, known)} | "
            f"{outcome.forward} | {outcome.backward} | {said} |"
        )
    return "\n".join(
        [
            "# One token changed: what the grader lets pass",
            "",
            "Written by `python -m tests.proofs.mutations.run --write`. `draw.py` drew",
            "the list, which was committed before the first run; what",
            '"equivalent" rests on is in `equivalent.py` and in `equivalent.toml`.',
            "",
            f"{summary(outcomes, known)}.",
            "",
            "| id | place | change | | forward | backward | message, or why equal |",
            "|---|---|---|---|---|---|---|",
            *rows,
            "",
        ]
    )


def main(words: list[str]) -> int:
    """Grade and tell; 1 if something survived that is not known to be equivalent."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, help="grade so many, drawn by --seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", default=[], help="grade these ids")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args(words)
    if arguments.write and (arguments.sample or arguments.only):
        parser.error("--write keeps the whole list: without --sample and --only")
    build_tools()
    mutations, _ = committed()
    if arguments.sample:
        mutations = sample(mutations, arguments.sample, arguments.seed)
    if arguments.only:
        mutations = [m for m in mutations if m.id in arguments.only]
    outcomes = []
    first = controls(mutations)
    for outcome in grade([*first, *mutations], jobs=arguments.jobs):
        if arguments.jobs == 1:
            print(line(outcome), flush=True)
        outcomes.append(outcome)
    if any(o.caught for o in outcomes if o.mutation in first):
        print("the reference itself did not pass: nothing is shown by what was caught")
        return 2
    outcomes = [outcome for outcome in outcomes if outcome.mutation not in first]
    outcomes.sort(key=lambda outcome: outcome.mutation.id)
    known = equivalents()
    print(summary(outcomes, known))
    if arguments.write:
        entries = ",\n".join(json.dumps(asdict(outcome)) for outcome in outcomes)
        RESULTS.write_text(f"[\n{entries}\n]\n")
        TABLE.parent.mkdir(parents=True, exist_ok=True)
        TABLE.write_text(table(outcomes, known))
    return int(any(fate(outcome, known) == "survived" for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
