# SPDX-License-Identifier: MIT
"""`make watch` as a student has it: in a terminal, with keys, saves and mistakes."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.commands.handout import starter
from grader.course.rungs import ROOT
from tests.grader.engine.test_grade import Tree, copy_of_the_repository
from tests.grader.watch.terminal import Terminal
from tests.proofs.trust import proc_file

LADDERS = "02_naive_c/gelu", "02_naive_c/linear", "01_python_function/add"
GELU = "02_naive_c/gelu/00_definition.c"
LINEAR = "02_naive_c/linear/00_definition.c"
RIGHT = (ROOT / "labs" / GELU).read_text()

pytestmark = pytest.mark.skipif(
    not shutil.which("tmux"), reason="tmux is not installed (make system-packages)"
)


@pytest.fixture(scope="module")
def watched(
    tools: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Tree, Terminal]]:
    """A tree, and `make watch` of it; what a test saves the next one finds right."""
    root = tmp_path_factory.mktemp("watch")
    tree = copy_of_the_repository(root, tools, *LADDERS)
    with watch(tree) as terminal:
        terminal.until("Right", "graded")
        yield tree, terminal


@pytest.fixture
def gelu(watched: tuple[Tree, Terminal]) -> Iterator[tuple[Path, Terminal]]:
    """The file of gelu, being watched; it is mended afterwards."""
    tree, terminal = watched
    file = tree.root / "labs" / GELU
    save(file, RIGHT, terminal)
    yield file, terminal
    file.write_text(RIGHT)


def watch(
    tree: Tree, *wanted: str, size: tuple[int, int] = (80, 24), **more: str
) -> Terminal:
    """`python -m grader watch` in a terminal."""
    env = {"CONVLAB_BUILD": str(tree.build), "PATH": os.environ["PATH"]}
    env |= {"BROWSER": "true", **more}
    command = [sys.executable, "-m", "grader", "watch", *wanted]
    return Terminal(command, cwd=tree.root, env=env, size=size)


def graded(terminal: Terminal) -> int:
    """How many gradings have ended, as the screen says while nothing is done."""
    found = re.search(r"graded (?:(once)|(\d+) times)", terminal.text())
    return int(found[2] or 1) if found else 0


def save(file: Path, text: str, terminal: Terminal) -> str:
    """Save, and wait until this text is graded to its end: a save before it may still
    be waiting for its own grading.
    """
    terminal.until_it(lambda _: graded(terminal) > 0, "a quiet screen")
    before = graded(terminal)
    file.write_text(text)
    digest = hashlib.sha256(text.encode()).hexdigest()
    return terminal.until_it(
        lambda _: digest in standing(file) and graded(terminal) > before,
        "the end of a grading",
    )


def standing(file: Path) -> str:
    """The results of the tree that a file of a lab belongs to."""
    return (file.parents[3] / "build/grade/results.json").read_text()


def test_a_right_file_is_told_check_by_check(gelu: tuple[Path, Terminal]) -> None:
    _, terminal = gelu
    text = terminal.until("Right")
    for name in (
        "forward in float32",
        "forward in float64",
        "backward in float64",
        "finite differences, backward",
        "memory accesses, forward",
    ):
        assert re.search(rf"{name} .*PASS", text), text
    assert "labs/02_naive_c/gelu/00_definition.c" in text.splitlines()[0]
    assert re.search(r"^\[#+\.*\] .*, [\d.]+ of \d+ points$", text, re.M), text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_a_wrong_value_is_told_with_its_line_of_advice(
    gelu: tuple[Path, Terminal],
) -> None:
    file, terminal = gelu
    text = save(file, RIGHT.replace("(accum)0.5", "(accum)0.51"), terminal)
    assert "WRONG_VALUE" in text
    assert re.search(r"is -?[\d.e+-]+, expected", text.replace("\n", " ")), text
    assert "output came" in text and "wrong: X" in text
    text = save(file, RIGHT, terminal)
    assert "WRONG_VALUE" not in text


def test_a_file_that_is_not_written_says_what_is_to_be_written(
    gelu: tuple[Path, Terminal],
) -> None:
    file, terminal = gelu
    text = save(file, starter(RIGHT), terminal)
    said = " ".join(text.split())
    assert "To write: forward and backward. (each still returns STATUS_NOT" in said
    assert "Press h for a hint; save the file to grade it." in said
    assert re.search(r"NOT_IMPLEMENTED  1 case$", text, re.MULTILINE), text


def test_without_colour_words_say_the_same(tools: Path, tmp_path: Path) -> None:
    tree = copy_of_the_repository(tmp_path, tools, "02_naive_c/gelu")
    with watch(tree, "02_naive_c/gelu", NO_COLOR="1") as terminal:
        text = terminal.until("Right", "graded once")
        assert "PASS" in text
        colours = re.findall(r"\x1b\[[0-9;]*m", terminal.colours())
        assert not [c for c in colours if re.search(r"[;\[](3[0-8]|9[0-7])[;m]", c)]


def test_a_syntax_error_shows_the_line(gelu: tuple[Path, Terminal]) -> None:
    file, terminal = gelu
    text = save(file, RIGHT.replace("return STATUS_OK;", "return STATUS_OK"), terminal)
    assert "BUILD" in text and "expected" in text
    assert re.search(r"^  > *\d+  ", text, re.MULTILINE), text
    try:  # on a small screen the lines around it go first
        terminal.resize(80, 14)
        small = terminal.until_it(
            lambda t: len(t.rstrip("\n").splitlines()) <= 14 and "n next" in t,
            "14 rows",
        )
        assert re.search(r"^  > *\d+  ", small, re.MULTILINE), small
    finally:
        terminal.resize(80, 24)


def test_a_crash_and_a_hang_end_their_file_only(gelu: tuple[Path, Terminal]) -> None:
    file, terminal = gelu
    crash = RIGHT.replace("return STATUS_OK;", "return *(volatile status_t *)8;", 1)
    assert "CRASH" in save(file, crash, terminal)
    hang = RIGHT.replace("return STATUS_OK;", "for (volatile int i = 0;; i++) {}", 1)
    file.write_text(hang)
    terminal.until("forward", " ... ")
    file.write_text(RIGHT)  # while it hangs
    text = terminal.until("Right", "graded")
    assert "Right" in text and "TIMEOUT" not in text


def test_a_save_during_a_check_begins_anew(gelu: tuple[Path, Terminal]) -> None:
    file, terminal = gelu
    file.write_text(RIGHT + "// once\n")
    terminal.until(" ... ")
    file.write_text(RIGHT.replace("(accum)0.5", "(accum)0.51"))
    terminal.until("WRONG_VALUE", "graded")


def test_keys_faster_than_the_grading_end_no_process(
    tools: Path, tmp_path: Path
) -> None:
    """Also while PyTorch is being imported, and what it imports at first use."""
    tree = copy_of_the_repository(tmp_path, tools, *LADDERS)
    with watch(tree) as terminal:
        for _ in range(40):
            terminal.press("n")
            assert "process" not in terminal.text().splitlines()[-3]
            time.sleep(0.1)
        text = terminal.until("graded", "Right")
        assert "process" not in text


def test_of_two_saves_at_once_the_open_file_is_graded(
    gelu: tuple[Path, Terminal], watched: tuple[Tree, Terminal]
) -> None:
    file, terminal = gelu
    other = watched[0].root / "labs" / LINEAR
    other.write_text(other.read_text() + "// too\n")
    save(file, RIGHT, terminal)
    assert "gelu" in terminal.text().splitlines()[0]
    other.write_text(other.read_text() + "// alone\n")
    terminal.until("linear/00_definition.c", "Right", "graded")


def test_a_file_that_is_removed_is_told_and_may_come_back(
    gelu: tuple[Path, Terminal],
) -> None:
    file, terminal = gelu
    file.unlink()
    terminal.until("was removed")
    file.write_text(RIGHT)
    terminal.until("gelu/00_definition.c", "Right", "graded")


def test_every_key_does_what_its_word_says(gelu: tuple[Path, Terminal]) -> None:
    file, terminal = gelu
    terminal.press("l")
    text = terminal.until("> 02_naive_c/gelu/00_definition")
    assert re.search(r"files 1 to 3 of 3 +forward +backward", text), text
    assert "02_naive_c/linear/00_definition" in text
    terminal.press("l")
    terminal.until("forward in float32", without="> 02_naive_c")
    terminal.press("h")
    terminal.until("hint 1 of")
    terminal.press("h")
    terminal.until("hint 2 of", "Press h for the next hint")
    terminal.press("h")
    terminal.until("hint 3 of 3", "Press h for the checks again")
    terminal.press("h")
    terminal.until("forward in float32", without="hint 1 of")
    terminal.press("d")
    terminal.until("no case has failed")
    terminal.press("o")
    terminal.until("opened build/grade/report.html")
    terminal.press("?")
    terminal.until("o  open the report in a browser", without="opened build")
    terminal.press("\x1b")
    terminal.until("forward in float32", without="open the report")
    terminal.press("p")
    terminal.until("linear/00_definition.c", "Right", "graded")
    terminal.press("n")
    terminal.until("gelu/00_definition.c", "Right", "graded")
    terminal.press("s")
    terminal.until(" ... ")
    terminal.until("Right", "graded")
    terminal.press("r")
    terminal.until("3 of 3 files are right", "graded")


def test_debug_lends_the_terminal_and_comes_back(
    gelu: tuple[Path, Terminal], watched: tuple[Tree, Terminal]
) -> None:
    file, terminal = gelu
    save(file, RIGHT.replace("(accum)0.5", "(accum)0.51"), terminal)
    terminal.press("d")
    terminal.until("make debug")
    if shutil.which("gdb"):
        terminal.until("q: quit", "(gdb)")
        terminal.press("q\n")  # asks nothing more
    terminal.until("press Enter")
    terminal.enter()
    terminal.until("WRONG_VALUE", "n next")


def test_another_size_is_drawn_anew(gelu: tuple[Path, Terminal]) -> None:
    _, terminal = gelu
    try:
        terminal.resize(60, 16)
        text = terminal.until_it(
            lambda t: len(t.rstrip("\n").splitlines()) <= 16 and "n next" in t,
            "16 rows",
        )
        assert all(len(line) <= 60 for line in text.splitlines())
    finally:
        terminal.resize(80, 24)
        terminal.until("? keys  q quit")


def test_q_ends_it_and_all_its_processes(tools: Path, tmp_path: Path) -> None:
    tree = copy_of_the_repository(tmp_path, tools, "02_naive_c/gelu")
    with watch(tree, "02_naive_c/gelu") as terminal:
        terminal.until("graded once")
        terminal.press("q")
        terminal.until("ended with 0")
        mine = [e.parent for e in cmdlines() if told_cwd(e.parent) == str(tree.root)]
        left = [words for p in mine if b"grader" in (words := proc_file(p, "cmdline"))]
        assert not left


def cmdlines() -> list[Path]:
    return list(Path("/proc").glob("[0-9]*/cmdline"))


def test_without_a_terminal_it_says_what_to_do_instead(
    tools: Path, tmp_path: Path
) -> None:
    tree = copy_of_the_repository(tmp_path, tools, "02_naive_c/gelu")
    done = tree.run("watch")
    assert done.returncode == 2
    assert "needs a terminal" in done.stderr and "make grade" in done.stderr


def test_a_grading_process_that_is_killed_costs_one_save(
    gelu: tuple[Path, Terminal], watched: tuple[Tree, Terminal]
) -> None:
    file, terminal = gelu
    mine = str(watched[0].root)
    for entry in cmdlines():
        words = proc_file(entry.parent, "cmdline")
        if b"grader.watch.service" in words and told_cwd(entry.parent) == mine:
            os.kill(int(entry.parent.name), signal.SIGKILL)
    terminal.until("a new process was started")
    file.write_text(RIGHT + "// again\n")
    terminal.until("Right", "graded", without="a new one")


def told_cwd(process: Path) -> str:
    """Where a process stands; "" if it is gone."""
    try:
        return str((process / "cwd").readlink())
    except OSError:
        return ""
