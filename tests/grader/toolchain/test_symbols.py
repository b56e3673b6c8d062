# SPDX-License-Identifier: MIT
"""The names in a compiled file: read by ourselves, and as binutils' nm tells them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from grader.errors import GraderError
from grader.toolchain import symbols
from grader.toolchain.scan import elf

SOURCE = """
extern int elsewhere(void);
extern int perhaps(void) __attribute__((weak));
extern int perhaps_data __attribute__((weak));
int number = 3;
static int own(void) { return number; }
__attribute__((weak)) int replaceable(void) { return 1; }
__attribute__((visibility("hidden"))) int hidden(void) { return 2; }
static int (*chosen(void))(void) { return own; }
int resolved(void) __attribute__((ifunc("chosen")));
int add_forward(void) { return elsewhere() + own() + (perhaps ? perhaps() : 0); }
int *add_backward(void) { return &perhaps_data; }
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("names")
    (folder / "a.c").write_text(SOURCE)
    compiled = ["cc", "-fPIC", "-O0", "-w", "-c", "-o", "a.o", "a.c"]
    subprocess.run(compiled, cwd=folder, check=True)
    subprocess.run(["cc", "-shared", "-o", "a.so", "a.o"], cwd=folder, check=True)
    subprocess.run(["ar", "rc", "a.a", "a.o"], cwd=folder, check=True)
    return folder


@pytest.mark.parametrize(("name", "dynamic"), [("a.o", 0), ("a.so", 0), ("a.so", 1)])
def test_the_names_are_those_that_nm_tells(
    built: Path, name: str, dynamic: int
) -> None:
    file = built / name
    ours = elf.names(file.read_bytes(), dynamic=bool(dynamic))
    exported, taken, weak, every = symbols._nm(file, bool(dynamic))
    assert (ours.exported, ours.taken, ours.weak) == (exported, taken, weak)
    assert {n.partition("@")[0] for n in every} == {
        n.partition("@")[0] for n in ours.every
    }
    assert {"add_forward", "add_backward"} <= ours.exported
    assert "elsewhere" in ours.taken
    assert {"perhaps", "perhaps_data"} <= ours.weak


def test_an_archive_and_a_file_that_is_cut_off_go_to_nm(built: Path) -> None:
    assert "add_forward" in symbols.symbols(built / "a.a", dynamic=False)[0]
    cut = built / "cut.o"
    cut.write_bytes((built / "a.o").read_bytes()[:200])
    assert symbols.symbols(cut, dynamic=False) == (set(), set())
    assert symbols.symbols(built / "none.o") == (set(), set())


@pytest.mark.parametrize("name", ["a.so", "a.o"])
@pytest.mark.parametrize("kept", [0, 60, 64, 200, -1])
def test_a_file_that_is_cut_off_is_named_and_to_be_built_again(
    built: Path, name: str, kept: int
) -> None:
    ask = elf.forbidden if name == "a.so" else elf.has_own_table
    assert not (name == "a.o" and ask(built / name))  # the whole one is read
    cut = built / f"cut.{name}"
    cut.write_bytes((built / name).read_bytes()[:kept])
    with pytest.raises(GraderError, match=r"cut.a.s?o is incomplete: .* make clean"):
        ask(cut)
