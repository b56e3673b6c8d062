# SPDX-License-Identifier: MIT
"""What a person types is data: it reaches a program as it stands, whatever it is, and
ends in one sentence where it is none of what was expected.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from grader.commands import cli, said
from grader.errors import GraderError
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
    told = tmp_path / "told"
    words = {"python": sys.executable, "file": str(told), "names": [name]}
    program = put(tmp_path / "program", SHOWN.format(**words))
    program.chmod(0o755)
    python = f"PYTHON={program}"
    make(tmp_path, target, python)
    usual = [line.rpartition("] [")[0] for line in told.read_text().splitlines()]
    for value in VALUES if name == "T" else ["".join(VALUES)]:
        for behind in (True, False):
            told.unlink()
            if behind:
                done = make(tmp_path, target, python, f"{name}={value}")
            else:
                done = make(tmp_path, target, python, **{name: value})
            assert done.returncode == 0, done.stderr
            lines = told.read_text().splitlines()
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
    monkeypatch.setattr(terminal.errors, "file", None, raising=False)
    place = COMPLETE.get(command, {})
    for value in (*VALUES, "9" * 5000, "\udcff"):
        words = {**place, name: value}
        status = cli.main([command, *(f"{n}={v}" for n, v in words.items())])
        told = capsys.readouterr()
        assert status == cli.USAGE_ERROR, (value, told.out)
        assert told.err.startswith("convlab: ") and told.err.count("\n") == 1, told.err
    assert not list(tmp_path.iterdir())


def test_a_word_behind_a_command_wins_and_is_gone_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LAB", "01")
    with said.taken(["LAB=02", "02_naive_c/add", "FROM=a=b"]):
        assert said.text("LAB") == "02" and said.text("T") == "02_naive_c/add"
        assert said.text("FROM") == "a=b"
    assert said.text("LAB") == "01" and not said.text("T")
    with pytest.raises(GraderError, match="'SEDE=3': no command has this word"):
        said.taken(["SEDE=3"]).__enter__()


@pytest.mark.parametrize(
    ("value", "found"), [("", None), (" 7 ", 7), ("0", 0), ("1000", 1000)]
)
def test_a_number_is_whole_and_within_its_bounds(
    value: str, found: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEED", value)
    assert said.number("SEED", 0, 1000) == found


@pytest.mark.parametrize("value", ["-1", "1001", "1.5", "seven", "1_0", "\u00b2"])
def test_another_number_is_told(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEED", value)
    with pytest.raises(GraderError, match="expected a whole number from 0 to 1000"):
        said.number("SEED", 0, 1000)
