# SPDX-License-Identifier: MIT
"""A rung's functions are short and branch little, as lizard counts them.

Lines of code, without blanks and comments: a cap on raw lines taught to pack them. Each
`if`, loop, case, `?:`, && and || is a branch. functions.toml has the exceptions.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.house.test_style import functions_in_c, functions_in_python, none, rungs
from tests.house.test_style import text as text_of

lizard = pytest.importorskip(
    "lizard", reason="needs the package lizard (requirements/development.txt)"
)
LINES, BRANCHES = 45, 10
EXCEPTIONS = tomllib.loads(Path(__file__).with_name("functions.toml").read_text())
EXCEPTED = {name for group in EXCEPTIONS["group"] for name in group["functions"]}


def measured(name: str, text: str) -> list[Any]:
    """Lizard's functions of a file. Its command skips .cu; this call reads it as C."""
    return lizard.analyze_file.analyze_source_code(name, text).function_list


def too_much(name: str, text: str) -> Iterator[tuple[str, str]]:
    """Functions above a limit, as functions.toml names them, and by how much."""
    for one in measured(name, text):
        if one.nloc > LINES or one.cyclomatic_complexity > BRANCHES:
            size = f"{one.nloc} lines, complexity {one.cyclomatic_complexity}"
            yield f"{name.removeprefix('labs/')} {one.name}", size


def test_lizard_finds_every_function_of_a_rung() -> None:
    bad = []
    for name in rungs():
        find = functions_in_python if name.endswith(".py") else functions_in_c
        found, expected = len(measured(name, text_of(name))), len([*find(name)])
        bad += [f"{name}: {found} of {expected}"] if found != expected else []
    none(bad)


def test_a_function_has_at_most_45_lines_and_10_branches() -> None:
    found = dict(one for name in rungs() for one in too_much(name, text_of(name)))
    none([f"{name}: {size}" for name, size in found.items() if name not in EXCEPTED])
    gone = EXCEPTED - set(found)
    none([f"{name}: within the limits, take it out" for name in sorted(gone)])


def test_every_exception_has_a_reason_and_stands_once() -> None:
    listed = [name for group in EXCEPTIONS["group"] for name in group["functions"]]
    assert len(listed) == len(set(listed))
    assert all(group["reason"] for group in EXCEPTIONS["group"])


@pytest.mark.parametrize(
    ("statement", "count", "over"),
    [
        ("x++;", 42, False),  # with head and braces 45 lines
        ("x++;", 43, True),
        ("if (x) x++;", 9, False),
        ("if (x) x++;", 10, True),
        ("// x++;", 60, False),
    ],
)
@pytest.mark.parametrize("kind", ["c", "cu"])
def test_the_limits_are_limits(
    kind: str, statement: str, count: int, *, over: bool
) -> None:
    body = f"{statement}\n" * count
    found = [*too_much(f"labs/a.{kind}", f"static int f(int x)\n{{\n{body}}}\n")]
    assert [name for name, _ in found] == (["a." + kind + " f"] if over else [])
