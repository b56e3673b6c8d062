# SPDX-License-Identifier: MIT
"""What a person types is data: it reaches a program as it stands, whatever it is, and
ends in one sentence where it is none of what was expected.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from grader.commands import build, cli, diff
from grader.errors import GraderError
from grader.options import LAB, Arguments, Option, T, number
from grader.report import terminal
from tests import ROOT, put

TYPED = {  # the names that make takes, each with a target that knows it
    "grade": "T LAB CHECK SEED JOBS FRESH TIMES STRICT",
    "bench": "NET CASES PARTS THREADS AGAINST",
    "debug": "CASE DTYPE THREAD BLOCK",
    "step": "STEPS",
    "solution": "KEY",
    "reset": "YES",
    "export": "TO",
    "submission": "COURSE FROM NAME WHEN PART DESK",
    "train": "DATA EPOCHS VARIANTS DEVICE PROFILE",
    "test": "PYTEST FAST",
    "docs": "EDITION",
}
NAMES = [(target, name) for target in TYPED for name in TYPED[target].split()]
VALUES = (
    "x'; touch A; echo '.zip",
    "y$(shell touch A).zip",
    "O'Brien",
    "$(touch A)",
    "${T}$$(T)",
    "`touch A`",
    '"; touch A; "',
    "a%b#c d  e\\",
    "x\n\ttouch A\n$(shell touch A)",
    "z" * 300,
)
SHOWN = """#!{python}
import os, sys
with open({file!r}, "a") as file:
    print(sys.argv[1:], [os.environ.get(name) for name in {names!r}], file=file)
"""


def make(folder: Path, *words: str, **place: str) -> subprocess.CompletedProcess[str]:
    """A command of the Makefile, whose programs are those of `folder`. What was typed
    behind the make that runs these tests is not for it.
    """
    ours = {n: word for n, word in os.environ.items() if not n.startswith("MAKE")}
    return subprocess.run(
        ["make", "-f", ROOT / "Makefile", "-I", ROOT, *words],
        cwd=folder,
        env={**ours, **place},
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize(("target", "name"), NAMES)
def test_make_hands_a_value_on_as_it_stands(
    target: str, name: str, tmp_path: Path
) -> None:
    record = tmp_path / "told"
    words = {"python": sys.executable, "file": str(record), "names": [name]}
    program = put(tmp_path / "program", SHOWN.format(**words))
    program.chmod(0o755)
    python = f"PYTHON={program}"
    make(tmp_path, target, python)
    usual = [line.rpartition("] [")[0] for line in record.read_text().splitlines()]
    for value in VALUES if name == "T" else ["".join(VALUES)]:
        for behind in (True, False):
            record.unlink()
            if behind:
                done = make(tmp_path, target, python, f"{name}={value}")
            else:
                done = make(tmp_path, target, python, **{name: value})
            assert done.returncode == 0, done.stderr
            lines = record.read_text().splitlines()
            assert [line.rpartition("] [")[0] for line in lines] == usual
            assert lines[-1].endswith(f"[{value!r}]")
    assert {f.name for f in tmp_path.iterdir()} == {"told", "program"}


@pytest.mark.parametrize("value", VALUES)
def test_another_instruction_set_is_told_and_nothing_runs(
    value: str, tmp_path: Path
) -> None:
    for words, place in (([f"ISA={value}"], {}), ([], {"ISA": value})):
        done = make(tmp_path, "doctor", *words, **place)
        assert done.returncode == 2 and "ISA is '" in done.stderr
    assert not list(tmp_path.iterdir())


# ---- what the commands make of it ----------------------------------------------------


REFUSED = {  # names that have to be one of something
    "grade": "T LAB CHECK SEED JOBS",
    "bench": "T LAB NET SEED CASES PARTS THREADS AGAINST",
    "debug": "T SEED CASE DTYPE THREAD BLOCK",
    "build": "T LAB",
    "hint": "T",
    "diff": "T",
    "profile": "T",
    "step": "T STEPS",
    "export": "TO",
    "handout": "COURSE",
    "submission": "COURSE FROM NAME WHEN PART",
    "marks": "COURSE TO",
}
COMPLETE = {  # what else has to be there
    "debug": {"T": "02_naive_c/add/00"},
    "submission": {"COURSE": "docs/courses/weekend.toml", "FROM": "x", "NAME": "x"},
    "marks": {"COURSE": "docs/courses/weekend.toml"},
}


@pytest.mark.parametrize(
    ("command", "name"),
    [(command, name) for command in REFUSED for name in REFUSED[command].split()],
)
def test_a_value_that_cannot_be_is_one_sentence(
    command: str,
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("DESK", str(tmp_path))
    terminal.errors.file = None  # type: ignore[assignment]  # the stream of today
    place = COMPLETE.get(command, {})
    for value in (*VALUES, "9" * 5000, "\udcff"):
        words = {**place, name: value}
        status = cli.main([command, *(f"{n}={v}" for n, v in words.items())])
        output = capsys.readouterr()
        assert status == cli.USAGE_ERROR, (value, output.out)
        assert output.err.startswith("convlab: ") and output.err.count("\n") == 1, (
            output.err
        )
    assert not list(tmp_path.iterdir())


def test_a_word_behind_a_command_wins_over_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LAB", "01")
    monkeypatch.setenv("SEED", "not a number")  # of no concern here
    asked: list[tuple[str, str]] = []
    monkeypatch.setattr(diff, "run", lambda words: asked.append((words[T], words[LAB])))
    monkeypatch.setattr(diff, "OPTIONS", (T, LAB))
    with pytest.raises(AssertionError):  # no status
        cli.run("diff", ["02_naive_c/add"])
    with pytest.raises(AssertionError):
        cli.run("diff", ["LAB=02", "T=a=b"])
    assert asked == [("02_naive_c/add", "01"), ("a=b", "02")]


OTHERS = "belongs to grade, bench, debug"


@pytest.mark.parametrize(
    ("command", "word", "sentence"),
    [
        ("report", "SEED=3", f"report does not take 'SEED=', it takes no .*{OTHERS}$"),
        ("diff", "SEED=3", f"diff does not take 'SEED=', it takes T=; .*{OTHERS}$"),
        ("diff", "SEDE=3", "diff does not take 'SEDE=', it takes T=$"),
        ("doctor", "02_naive_c", "doctor does not take 'T=', it takes no options; T= "),
        ("diff", "a\nb=3", r"diff does not take 'a\\nb=', it takes T=$"),
    ],
)
def test_a_word_that_a_command_does_not_take_is_refused(
    command: str, word: str, sentence: str
) -> None:
    with pytest.raises(GraderError, match=sentence):
        cli.run(command, [word])


def test_what_stood_behind_make_is_refused_unless_a_tool_reads_it(
    tmp_path: Path,
) -> None:
    python = f"PYTHON={sys.executable}"
    paths = os.pathsep.join(
        str(ROOT / p) for p in ("", "common/python", "grader/python")
    )
    place = {"PYTHONPATH": paths, "CONVLAB_BUILD": str(tmp_path)}
    done = make(ROOT, "report", python, "SEED=3", "CUDA=0", "SEDE=3", **place)
    assert "report does not take 'SEED='" in " ".join(done.stderr.split())
    done = make(ROOT, "report", python, "SEDE=3", **place)
    assert "report does not take 'SEDE=', it takes no" in " ".join(done.stderr.split())
    done = make(ROOT, "handout", python, "OUT=build/new", **place)
    sentence = "handout does not take 'OUT=', it takes COURSE="
    assert sentence in " ".join(done.stderr.split())
    for behind, before in (("CUDA=0", {}), ("CC=gcc", {}), ("ISA=", {"SEED": "3"})):
        done = make(ROOT, "report", python, behind, **place, **before)
        assert "there are no results" in done.stderr


def test_a_process_that_a_command_starts_knows_nothing_of_make(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(cli.TYPED, "LAB PYTHON")
    monkeypatch.setattr(build, "run", lambda _: int(cli.TYPED in os.environ))
    assert cli.run("build") == 0


def test_the_sources_declare_the_options_that_the_commands_have() -> None:
    every = {one.name for command in cli.COMMANDS for one in cli.options_of(command)}
    assert cli.declared() == every


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_the_help_of_a_command_names_its_options(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([command, "--help"]) == 0
    shown = capsys.readouterr().out
    assert cli.COMMANDS[command] in shown
    for option in cli.options_of(command):
        assert f"\n  {option.name}=" in shown and option.meaning in shown


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_make_help_names_only_options_that_a_command_has(command: str) -> None:
    line = re.search(rf"(?m)^{command}:.*## (.*)", (ROOT / "Makefile").read_text())
    shown = re.findall(r"\b([A-Z]+)=", line[1]) if line else []
    assert {*shown} <= {one.name for one in cli.options_of(command)}


SEED = Option("SEED", "", number(0, 1000))


@pytest.mark.parametrize(
    ("value", "found"), [("", None), (" 7 ", 7), ("0", 0), ("1000", 1000)]
)
def test_a_number_is_whole_and_within_its_bounds(value: str, found: int | None) -> None:
    assert Arguments([SEED], {"SEED": value})[SEED] == found


@pytest.mark.parametrize("value", ["-1", "1001", "1.5", "seven", "1_0", "\u00b2"])
def test_another_number_is_told(value: str) -> None:
    with pytest.raises(GraderError, match="expected a whole number from 0 to 1000"):
        Arguments([SEED], {"SEED": value})
