# SPDX-License-Identifier: MIT
"""Threads that meet in memory: what is a race, what is none, and what is said of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grader import operators
from grader.checks.memory import team_races
from grader.checks.memory.team_races import InTurns
from grader.checks.subject import Subject
from grader.course.rungs import Rung
from grader.operators import Case
from grader.toolchain.build import compiled
from grader.toolchain.products import TEAM, Build
from grader.verdicts import Verdict
from tests import PROGRAMS

SEED = 3
UNSEEN = ("gives_up", "wait_for_each_other", "keeps_its_lock")
THREADS = PROGRAMS / "races" / "threads.c"
GELU = operators.get("gelu")
WAY = re.compile(r"^static int (\w+)\(ctx_t \*ctx, int T\)\n\{\n(.*?)^\}", re.M | re.S)


def ways() -> dict[str, set[int]]:
    """The functions of threads.c, each with the lines of its race."""
    text = THREADS.read_text()
    found = {}
    for way in WAY.finditer(text):
        first = text.count("\n", 0, way.start(2)) + 1
        lines = enumerate(way[2].split("\n"), first)
        found[way[1]] = {number for number, line in lines if line.endswith("// race")}
    return found


def case_of(way: str) -> Case:
    """The case in which a function is called."""
    number = list(ways()).index(way) + 1
    return GELU.case({"name": way, "shapes": {"input": [number]}})


@pytest.fixture(scope="module")
def team(tools: Path) -> Iterator[InTurns]:
    """threads.c in its build for the check."""
    assert team_races.missing() == ""
    built = compiled(Rung("03_im2col_cpu/gelu", THREADS), mode=TEAM)
    library = built.libraries["f32"]
    subject = InTurns(GELU, libraries={"f32": (library, library)})
    yield subject
    subject.close()


@pytest.mark.parametrize("way", [way for way in ways() if way not in UNSEEN])
def test_a_race_is_told_with_its_lines_and_what_is_ordered_is_none(
    team: InTurns, way: str
) -> None:
    team.begin()
    found = team_races._case(team, case_of(way), "forward", SEED)
    wanted = ways()[way]
    assert [finding.verdict for finding in found] == [Verdict.RACE] * bool(wanted)
    for finding in found:
        lines = {int(n) for n in re.findall(r"threads\.c:(\d+)", finding.message)}
        assert lines | {int((finding.location or ":0").split(":")[1])} == wanted
        assert ("ctx_scratch" in finding.message) == ("scratch" in way)
        writes = re.search(
            f"(written|operation) in {finding.location}", finding.message
        )
        assert writes or "scratch" in way


@pytest.mark.parametrize(
    ("names", "verdict", "cases", "says"),
    [
        (["a_reduction", "neighbours"], Verdict.PASS, 2, ""),
        (["neighbours", "the_same_value"], Verdict.RACE, 2, "the_same_value: two thre"),
        (
            ["a_reduction", "gives_up"],
            Verdict.PASS,
            1,
            "checked 1 of 2 cases: gives_up ran out of memory",
        ),
        (["gives_up"], Verdict.PASS, 0, "races were not checked: gives_up ran out"),
        *(
            (
                [way],
                Verdict.PASS,
                0,
                "does not end, because the threads of a region wait for each other",
            )
            for way in ("wait_for_each_other", "keeps_its_lock")
        ),
    ],
)
def test_what_cannot_be_looked_at_is_said_and_costs_nothing(
    team: InTurns,
    names: list[str],
    verdict: Verdict,
    cases: int,
    says: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(GELU, "thread_cases", lambda: [case_of(n) for n in names])
    built = Build(dict.fromkeys(["f32"], team.libraries["f32"][0]), ("forward",))
    found = team_races.check(Subject(GELU), built, "forward", SEED)
    assert (found.verdict, found.cases) == (verdict, cases), found.message
    assert says in found.message and bool(says) == bool(found.message)


def test_what_this_openmp_does_not_know_is_named(
    tools: Path, compile_gelu: Callable[[str], dict[str, Path]]
) -> None:
    task = "#pragma omp parallel\n#pragma omp single\n#pragma omp task\ny[0] = x[0];"
    built = Build(compile_gelu(task), ("forward",))
    found = team_races.check(Subject(GELU), built, "forward", SEED)
    assert found.verdict is Verdict.PASS
    assert "not checked: the code calls GOMP_task, which this" in found.message


def test_a_build_that_is_none_is_no_fault_of_the_file() -> None:
    broken = Build({}, error="cc1: error: no such option")
    found = team_races.check(Subject(GELU), broken, "forward", SEED)
    assert (found.verdict, found.message) == (
        Verdict.PASS,
        "races were not checked: cc1: error: no such option",
    )


def test_a_report_that_makes_no_sense_tells_nothing(team: InTurns) -> None:
    team_races._case(team, case_of("a_reduction"), "forward", SEED)
    worker = team.worker("f32")
    for report in (b"race", b"race zz 1 1 1 1 1 1", b"race 1 9 9 9 9 9 \xff", b"\0"):
        worker.reply.report = report
        assert team_races.read(worker, "a", team.names()) is None
    worker.reply.report = b"race 10 1 1 ffffff 0 2 ffffff"
    found = team_races.read(worker, "a", team.names())
    assert found and found.location is None
    assert "of memory, at least one writes" in found.message
    assert "(written by thread 1; read by thread 2)" in found.message
