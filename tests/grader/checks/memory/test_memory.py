# SPDX-License-Identifier: MIT
"""The memory check and the post-mortem: each bug is found with its line, no right rung
is blamed, and both do without what a machine may lack.

The bugs stand in tests/programs/memory_bugs, one in each file, and bugs.toml says what
is to be found; a line's number is that in the whole program, its frame included. They
are graded as the grader does it: the values first, then the memory.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import tomllib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from signatures import SIGNATURES

from grader import operators
from grader.checks.check_result import CheckResult, Finding, Stopped
from grader.checks.memory import access, sanitizer_report
from grader.checks.subject import Subject
from grader.checks.values import forward, gradient
from grader.checks.values.prepared import prepare
from grader.commands import doctor
from grader.course.rungs import ROOT, Rung
from grader.course.tasks import all_tasks
from grader.diagnosis import postmortem
from grader.engine.answers.earlier_links import build
from grader.engine.checking.runnable import of_build
from grader.operators import Case
from grader.toolchain import make
from grader.verdicts import Verdict
from tests import PROGRAMS, put
from tests.conftest import needs_gdb
from tests.proofs.frames import framed
from tests.proofs.trust import Fault, at_level, descendants, levels

BUGS = PROGRAMS / "memory_bugs"
TABLE: dict[str, dict[str, str]] = tomllib.loads((BUGS / "bugs.toml").read_text())
SEED = 5

REFERENCE = [
    rung
    for task in all_tasks()
    if task.lab == "02_naive_c" and not task.is_hunt
    for rung in task.rungs
    if not rung.is_view
]


@pytest.fixture(scope="module", autouse=True)
def sanitizers(tools) -> None:
    if reason := access.missing():
        pytest.skip(reason)


def operator_of(name: str) -> str:
    """The operator that a bug's name begins with."""
    return max((o for o in SIGNATURES if name.startswith(o)), key=len)


def rung_of(name: str) -> Rung:
    return Rung(f"02_naive_c/{operator_of(name)}", framed(BUGS / f"{name}.c"))


@contextmanager
def subject_of(rung: Rung) -> Iterator[Subject]:
    """A rung as the checks of values see it."""
    libraries = {k: (v, v) for k, v in build(rung).libraries.items()}
    operator = operators.get(rung.task.split("/")[1])
    with closing(Subject(operator, libraries=libraries)) as subject:
        yield subject


@contextmanager
def watched_of(rung: Rung) -> Iterator[access.Watched]:
    """A rung as the memory check sees it."""
    built = build(rung, mode="sanitize")
    with closing(access.watched(of_build(rung, built), built)) as watched:
        yield watched


def checked(
    name: str, direction: str = "forward", cases: slice = slice(None)
) -> CheckResult:
    """The memory check of a bug alone."""
    with watched_of(rung_of(name)) as watched:
        chosen = operators.get(operator_of(name)).cases(SEED)[cases]
        result = access.check(watched, chosen, direction, SEED)
    assert result is not None
    return result


def values(subject: Subject, direction: str) -> CheckResult:
    """The check of the values, in float as the memory check is."""
    check = forward.check if direction == "forward" else gradient.check
    cases = subject.operator.cases(SEED)
    return check(subject, cases, "f32", SEED)


@functools.cache
def judged(name: str) -> CheckResult:
    """What a bug comes to: values, then memory, or a closer look at what failed."""
    rung = rung_of(name)
    built = build(rung)
    assert built.libraries, built.error
    (direction,) = built.directions
    with subject_of(rung) as subject:
        result = values(subject, direction)
    if result.verdict is Verdict.PASS:
        return checked(name, direction)
    with watched_of(rung) as watched:
        return access.locate(watched, result, SEED)


def bug_line(name: str) -> str:
    file = rung_of(name).file
    lines = enumerate(file.read_text().splitlines(), 1)
    (number,) = (n for n, line in lines if line.endswith("// BUG"))
    return f"{file.relative_to(ROOT)}:{number}"


# ---- the check -----------------------------------------------------------------------


@pytest.mark.parametrize("name", TABLE)
def test_bug_gets_its_line_its_verdict_and_the_name_of_its_memory(name):
    result = judged(name)
    assert result.location == bug_line(name), result.message
    assert re.fullmatch(TABLE[name]["verdict"], result.verdict), result.message
    assert re.search(TABLE[name]["says"], result.message), result.message
    assert "\n" not in result.message


def test_every_file_with_a_bug_is_in_the_table():
    marked = {f.stem for f in BUGS.glob("*.c") if "// BUG" in f.read_text()}
    assert marked == set(TABLE)


HARMLESS = "gelu_right_with_odd_operations"


def test_what_is_odd_but_harmless_passes():
    result = judged(HARMLESS)
    assert (result.name, result.verdict) == ("memory", Verdict.PASS), result.message
    assert result.cases == len(operators.get("gelu").cases(SEED))


def test_the_harmless_rung_did_touch_memory_that_nobody_wrote():
    case = operators.get("gelu").cases(SEED)[0]
    with watched_of(rung_of(HARMLESS)) as watched:
        made = prepare(watched, case, 0, "forward", "f32", SEED)
        assert watched.run(made.call, case, "f32") is None
        notes = watched.worker("f32").notes.split("\n")
    tags = {int(note.split()[0], 16) for note in notes if note}
    assert tags == {0, 0x3000, 0x2008}  # 0/0, scratch, output


@pytest.mark.parametrize("rung", REFERENCE, ids=lambda rung: rung.id[11:])
def test_reference_rung_passes(rung):
    with watched_of(rung) as watched:
        for direction in build(rung).directions:
            cases = watched.operator.cases(SEED)
            result = access.check(watched, cases, direction, SEED)
            assert result and result.verdict is Verdict.PASS, result
            assert result.cases > 5


@pytest.mark.parametrize("level", levels())
def test_a_report_comes_through_at_every_level(level):
    name = "linear_scratch_read_past"
    with at_level(level):
        assert checked(name, cases=slice(1)).location == bug_line(name)


def test_only_float_is_built():
    built = build(rung_of("gelu_int_overflow"), mode="sanitize")
    assert list(built.libraries) == ["f32"]


@pytest.fixture
def hang(monkeypatch) -> Callable[[Callable[[Case], bool]], None]:
    """Lets the calls of some cases time out."""

    def hanging(which: Callable[[Case], bool]) -> None:
        run = access.Watched.run

        def slow(self, call, case, dtype):
            if which(case):
                raise Stopped(Finding(Verdict.TIMEOUT, "did not return", case.name))
            return run(self, call, case, dtype)

        monkeypatch.setattr(access.Watched, "run", slow)

    return hanging


def test_a_case_that_does_not_end_does_not_hide_the_others(hang):
    first, *rest = operators.get("gelu").cases(SEED)
    hang(lambda case: case == first)
    assert checked("gelu_static_array_overrun").verdict is Verdict.MEMORY_ERROR
    right = checked(HARMLESS)
    assert (right.verdict, right.cases) == (Verdict.PASS, len(rest))
    assert f"{len(rest)} of {len(rest) + 1} cases: {first.name} did" in right.message


def test_nothing_that_was_looked_at_is_no_pass(hang, monkeypatch):
    hang(lambda case: True)
    found = checked(HARMLESS)
    assert (found.verdict, found.cases) == (Verdict.SUSPECT, 0)
    monkeypatch.setattr(access, "BUDGET", -1.0)
    assert checked(HARMLESS).verdict is Verdict.SUSPECT


def test_an_error_that_only_the_watched_build_returns_is_no_pass(monkeypatch):
    sentence = Finding(Verdict.WRONG_CONTRACT, "returned 7", "x")
    monkeypatch.setattr(access.Watched, "run", lambda *_: sentence)
    found = checked(HARMLESS)
    assert found.verdict is Verdict.SUSPECT and "returned 7" in found.message


def silenced(doing: str) -> CheckResult:
    """The memory check of an overrun of a file that does this before it."""
    rung = rung_of("gelu_static_array_overrun")
    text = rung.file.read_text().replace("(void)ctx;", f"(void)ctx;\n    {doing}")
    file = ROOT / "build" / f"silenced-{os.getpid()}" / rung.file.name
    put(file, f"#include <stdio.h>\n#include <unistd.h>\n{text}")
    with watched_of(Rung(rung.task, file)) as watched:
        cases = operators.get("gelu").cases(SEED)
        result = access.check(watched, cases, "forward", SEED)
    shutil.rmtree(file.parent)
    return result


@pytest.mark.parametrize("doing", ["close(2);", "dup2(0, 2);", "fclose(stderr);"])
def test_a_report_that_is_missing_is_a_memory_error(doing):
    found = silenced(doing)
    assert found.verdict is Verdict.MEMORY_ERROR
    assert "with exit code 99" in found.message and "is missing" in found.message


def test_a_report_after_much_else_is_read():
    found = silenced(
        "static char much[1 << 20];\n"
        "    for (int i = 0; i < 1024; i++) (void)!write(2, much, sizeof much);"
    )
    assert found.verdict is Verdict.MEMORY_ERROR
    assert "past the end of the static array 'table'" in found.message


# ---- without sanitizers --------------------------------------------------------------


def test_a_compiler_without_sanitizers_is_named_and_nothing_fails(
    monkeypatch, tmp_path, plain_compiler
):
    monkeypatch.setenv("CC", plain_compiler)
    monkeypatch.setenv("CONVLAB_BUILD", str(tmp_path / "build"))
    reason = make.sanitizers_missing()
    assert "has no AddressSanitizer here" in reason
    assert "cannot find libasan.so" in reason
    found = {item.name: item for item in doctor.items()}["sanitizers"]
    assert not found.found and not found.needed
    assert "no memory check" in found.without


def test_a_worker_that_does_not_start_is_no_pass(monkeypatch):
    monkeypatch.setattr(access.Watched, "program", "worker-that-is-not-there")
    assert checked("gelu_int_overflow").verdict is Verdict.GRADER


# ---- the post-mortem -----------------------------------------------------------------


def explained(rung: Rung, result: CheckResult | None = None) -> CheckResult:
    """The post-mortem of a rung, after the check of its values."""
    with subject_of(rung) as subject:
        result = result or values(subject, "forward")
        return postmortem.explain(rung, subject, result, SEED, build)


def failed(rung: Rung, verdict: Verdict, dtype: str) -> CheckResult:
    """A made-up result of the first case."""
    case = operators.get(rung.task.split("/")[1]).cases(SEED)[0].name
    return CheckResult("forward", "forward", verdict, dtype, replay=case)


@needs_gdb
def test_a_crash_shows_its_line_and_the_loop_indices():
    name = "conv2d_reads_row_past"
    result = explained(rung_of(name))
    assert result.location == bug_line(name)
    assert "the line is: const real x = *at4(input, n, ic0" in result.message
    shown = dict(re.findall(r"(\w+)=(\d+)", result.message.partition(", with ")[2]))
    assert list(shown)[:4] == ["n", "oc", "oh", "ow"]
    assert {"ic", "kh", "kw", "ih", "iw"} <= set(shown)
    assert shown["ih"] == "7"  # the row past the last of 7


@needs_gdb
def test_a_sanitizer_s_report_gets_its_indices():
    name = "matmul_reads_row_before"
    result = explained(rung_of(name), judged(name))
    assert result.location == bug_line(name)
    assert re.search(r", with .*\bm=0\b", result.message)


@needs_gdb
@pytest.mark.parametrize("level", levels())
def test_what_crashes_again_is_behind_the_same_walls(level):
    before, name = descendants(), "gelu_dies_behind_walls"
    with at_level(level):
        result = explained(rung_of(name))
    assert ", with i=7" in result.message and result.location == bug_line(name)
    assert not Path("convlab-leak.txt").exists()
    assert descendants() <= before


@needs_gdb
def test_an_endless_loop_shows_where_it_is():
    rung = Rung("02_naive_c/matmul", Fault("endless_loop", "c", "none").file)
    result = explained(rung, failed(rung, Verdict.TIMEOUT, "f32"))
    assert "the line is: for (;;)" in result.message
    assert result.verdict is Verdict.TIMEOUT


def test_without_gdb_the_result_stays_as_it_was(monkeypatch):
    died = judged("linear_null_bias")
    found = {"cc": shutil.which("cc"), "make": shutil.which("make")}
    monkeypatch.setattr(postmortem.shutil, "which", found.get)
    assert explained(rung_of("linear_null_bias"), died) == died
    assert "the line is: const real first = *at1(bias, 0)" in died.message


def test_without_addr2line_a_report_has_the_line_that_is_in_its_text(monkeypatch):
    monkeypatch.setattr(sanitizer_report, "places", lambda *_: [])
    name = "gelu_shift_overflow"
    assert checked(name).location == bug_line(name)


@needs_gdb
def test_a_right_rung_does_not_crash_the_second_time():
    rung = next(r for r in REFERENCE if r.id == "02_naive_c/gelu/00_definition")
    said = failed(rung, Verdict.CRASH, "f64")
    assert explained(rung, said) == said
