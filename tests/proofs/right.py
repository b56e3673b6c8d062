# SPDX-License-Identifier: MIT
"""Right rungs are not accused by chance: of a race, or of a time that cannot be.

python -m tests.proofs.stress right [--seeds N] [--only 03_im2col_cpu/matmul]

What depends on chance in a grading is drawn anew so many times: the drawn cases for
the races of rungs with threads or in CUDA, and the times and this machine's peaks for
the ceiling (checks/speed/ceiling.py). A rung's other cases are the same in every
grading, and `make test` and `make grade` look at those.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field

from signatures import DIRECTIONS

from grader import operators
from grader.checks.check_result import CheckResult
from grader.checks.cuda import under_cusim
from grader.checks.memory import team_races
from grader.checks.speed import baseline, machine, speed
from grader.checks.speed.ceiling import SHARE, least_seconds
from grader.checks.subject import Subject
from grader.course.rungs import Rung, Task
from grader.course.tasks import all_tasks
from grader.course.threads import uses_openmp
from grader.engine.checking.runnable import of_build
from grader.operators import Case
from grader.operators.cost import cost
from grader.toolchain.linking import Links
from grader.toolchain.products import TEAM, TRACE
from grader.verdicts import Verdict
from tests.proofs import pages
from tests.proofs.reference import reference_links, subject_of

PAGE = "right_rungs.md"
TITLE = """# Right rungs are not accused

Made by `python -m tests.proofs.stress right --seeds 100` on {}."""
RACES = """## Races

Each seed draws eight cases, of which CUDA's rungs are looked at in all, and values for
the fixed cases of rungs with OpenMP, whose threads run in two orders."""
CEILING = f"""## Times

The fastest file of each ladder, timed so many times, each with peaks measured anew. The
last column is the shortest time over that which is suspected; from 1 down a file is
SUSPECT. The limit is {SHARE:g} of the least time that the machine can take."""


@dataclass
class Races:
    """What was looked at of one rung, and what was reported."""

    looked: int = 0
    findings: list[str] = field(default_factory=list)

    def note(self, seed: int, result: CheckResult) -> None:
        """One look."""
        self.looked += result.cases
        unseen = result.message.startswith(team_races.UNSEEN)
        if result.verdict is not Verdict.PASS or unseen:
            said = f"{result.direction} {result.verdict.name} {result.message}"
            self.findings.append(f"seed {seed} {said}")


def races(rung: Rung, links: Links, count: int) -> Races:
    """The races of one rung with so many seeds."""
    found = Races()
    built = links.build(rung)
    with closing(of_build(rung, built)) as subject:
        if rung.file.suffix == ".c":
            team = links.build(rung, mode=TEAM)
            for seed in range(count):
                for direction in built.directions:
                    found.note(seed, team_races.check(subject, team, direction, seed))
            return found
    traced = links.build(rung, mode=TRACE)
    if not traced.libraries:
        found.findings.append(f"no build: {traced.error or traced.blocked}")
        return found
    with closing(of_build(rung, traced)) as watched:
        for seed in range(count):
            cases = watched.operator.cases(seed)
            drawn = cases[len(watched.operator.cases(seed, drawn=0)) :]
            for direction in built.directions:
                look = under_cusim.look("races", watched, drawn, direction, seed)
                found.note(seed, look)
    return found


@dataclass
class Times:
    """The measurements of a ladder's fastest file in one direction."""

    rung: Rung
    subject: Subject
    case: Case
    direction: str
    taken: int = 0
    suspected: int = 0
    nearest: float = float("inf")  # the shortest time / the time that is suspected

    def take(self, seed: int, peaks: machine.Peaks) -> None:
        """One measurement."""
        words = self.subject, self.case, self.direction
        found = speed.check(*words, None, seed, peaks, tries=1)
        self.taken += 1
        self.suspected += found.verdict is Verdict.SUSPECT
        if not found.ms:
            return
        operator = self.subject.operator
        data = baseline.Data(operator, self.case, 1, seed)
        inputs, _ = data.of_call(0)
        of = {"direction": self.direction}
        need = cost(operator, self.case, inputs, data.outputs, **of)
        limit = SHARE * least_seconds(need, peaks, 1)
        self.nearest = min(self.nearest, found.ms / 1e3 / limit)

    def row(self) -> tuple[object, ...]:
        """Its line in the table."""
        near = f"{self.nearest:.2f}"
        return self.rung.id, self.direction, self.taken, self.suspected, near


def fastest(task: Task, right: list[tuple[Rung, Subject]]) -> Iterator[Times]:
    """What a ladder is timed with: its fastest file in each direction."""
    assert task.speed
    for direction, band in task.speed.bands.items():
        case = operators.get(task.operator).speed_cases()[band.case]
        seconds = [speed.screen(subject, case, direction, 0) for _, subject in right]
        rung, subject = right[seconds.index(min(seconds))]
        yield Times(rung, subject, case, direction)


def right(count: int, only: str = "") -> int:
    """All of it, of ladders whose ids begin with `only`; 1 if a rung was accused."""
    links, rows, accused = reference_links(), Rows(), 0
    machine.keep_memory()
    for task in all_tasks():
        compiled = task.language in ("c", "cuda")
        if not compiled or not task.id.startswith(only):
            continue
        accused += _ladder(task, links, count, rows)
        rows.write()
    return 1 if accused else 0


def _ladder(task: Task, links: Links, count: int, rows: Rows) -> int:
    """How often a rung of a ladder was accused."""
    accused = 0
    found: list[tuple[Rung, Subject]] = []
    for rung in (rung for rung in task.rungs if not rung.needs):
        if task.language == "cuda" or uses_openmp(rung):
            seen = races(rung, links, count)
            cells = rung.id, count, seen.looked, len(seen.findings)
            rows.races[rung.id] = pages.line(cells)
            print(rows.races[rung.id], *seen.findings[:3], sep="\n  ", flush=True)
            accused += len(seen.findings)
        if task.language == "c":
            found.append((rung, subject_of(rung, links)[0]))
    for times in fastest(task, found) if task.speed and found else ():
        for seed in range(count):
            with machine.Peaks() as peaks:
                times.take(seed, peaks)
        key = f"{task.id} {times.direction}"
        rows.times[key] = pages.line(times.row())
        print(rows.times[key], flush=True)
        accused += times.suspected
    for _, subject in found:
        subject.close()
    return accused


class Rows:
    """The page's lines; a run of some ladders replaces only theirs."""

    def __init__(self) -> None:
        self.races: dict[str, str] = {}  # by rung
        self.times: dict[str, str] = {}  # by ladder and direction
        page = pages.RESULTS / PAGE
        if not page.exists():
            return
        for line in page.read_text().splitlines():
            cells = [cell.strip() for cell in line.split("|")[1:-1]]
            if not line.startswith("| 0"):
                continue
            if cells[1] in DIRECTIONS:
                ladder = cells[0].rpartition("/")[0]
                self.times[f"{ladder} {cells[1]}"] = line
            else:
                self.races[cells[0]] = line

    def write(self) -> None:
        """Both tables."""
        head = ["rung", "seeds", "looks at a case", "accused"]
        shown = ["file", "direction", "times", "suspected", "shortest / suspected"]
        pages.write(
            PAGE,
            TITLE.format(pages.machine()),
            RACES,
            "\n".join([*pages.table(head, []), *_sorted(self.races)]),
            CEILING,
            "\n".join([*pages.table(shown, [], words=2), *_sorted(self.times)]),
        )


def _sorted(rows: dict[str, str]) -> list[str]:
    return [rows[key] for key in sorted(rows)]
