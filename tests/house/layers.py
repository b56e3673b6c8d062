# SPDX-License-Identifier: MIT
"""Which module imports which, and whether that keeps to the order of the rooms.

Every import counts, also one inside a function or for types alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path

# an import goes down only: from a later room to an earlier one, or within a room
ROOMS = (
    "signatures",
    "cusim",
    "ladders",
    "grader",  # its modules outside of a folder: closing, errors, verdicts
    "grader.course",
    "grader.operators",
    "grader.toolchain",
    "grader.runner",
    "grader.checks",
    "grader.diagnosis",
    "grader.engine",
    "grader.report",
    "convlab",
    "grader.bench",
    "grader.watch",
    "grader.handout",
    "grader.batch",
    "grader.commands",
    "grader.__main__",
)
SOURCES = (".", "common/python", "grader/python")  # where Python finds them
LARGEST = 14  # modules in a folder
ONE_EACH = (  # folders with a module for each operator or command
    "grader.operators",
    "grader.diagnosis.mistakes",
    "grader.commands",
)

Imports = dict[str, set[str]]  # module -> modules that it imports


def modules(root: Path) -> dict[str, Path]:
    """Every module of convlab by its dotted name."""
    found = {}
    for source in SOURCES:
        base = root / source
        for room in {room.split(".")[0] for room in ROOMS}:
            for path in sorted((base / room).rglob("*.py")):
                if source == "." and path.is_relative_to(root / "grader" / "python"):
                    continue
                parts = path.relative_to(base).with_suffix("").parts
                found[".".join(parts).removesuffix(".__init__")] = path
    return found


def imports(files: Mapping[str, Path]) -> Imports:
    """What each module imports of the others."""
    return {
        name: {other for other in _named(path, files) if other != name}
        for name, path in files.items()
    }


def _named(path: Path, files: Mapping[str, Path]) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in files)
        elif isinstance(node, ast.ImportFrom):
            assert node.module and not node.level, f"{path}: a relative import"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                if whole in files:
                    yield whole
                elif node.module in files:
                    yield node.module


def room_of(module: str) -> int:
    """The place of a module's room in the order."""
    fits = [i for i, room in enumerate(ROOMS) if f"{module}.".startswith(f"{room}.")]
    return max(fits, key=lambda i: len(ROOMS[i]))


def upwards(found: Imports) -> list[str]:
    """The arrows that go up."""
    return [
        f"{name} imports {other}"
        for name in sorted(found)
        for other in sorted(found[name])
        if room_of(other) > room_of(name)
    ]


def circles(found: Imports) -> list[str]:
    """A way from a module back to itself, one for each circle that is met."""
    done: set[str] = set()
    met: list[str] = []

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            met.append(" -> ".join([*path[path.index(name) :], name]))
        elif name not in done:
            for other in sorted(found.get(name, ())):
                visit(other, (*path, name))
            done.add(name)

    for name in sorted(found):
        visit(name, ())
    return met


def crowded(files: Mapping[str, Path]) -> list[str]:
    """Folders with more modules than a reader can keep apart."""
    folders: dict[str, int] = {}
    for name, path in files.items():
        if path.name != "__init__.py":
            folder = name.rpartition(".")[0]
            folders[folder] = folders.get(folder, 0) + 1
    return [
        f"{folder} has {count} modules"
        for folder, count in folders.items()
        if count > LARGEST and folder not in ONE_EACH
    ]


def alike(files: Mapping[str, Path], operators: set[str]) -> list[str]:
    """Modules whose names a reader takes for each other: equal, or a letter apart.

    Those of a command and of an operator are called after it, wherever they stand;
    cusim is a tool of its own.
    """
    names = [
        (name, name.rpartition(".")[2].strip("_"))
        for name, path in files.items()
        if path.name != "__init__.py"
        and not name.startswith(("cusim.", "grader.commands."))
    ]
    return [
        f"{one} and {other}"
        for (one, short), (other, long) in combinations(names, 2)
        if short not in operators and _near(short, long)
    ]


def _near(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    if len(short) == len(long):
        return sum(a != b for a, b in zip(short, long)) <= 1
    return len(long) == len(short) + 1 and any(
        long[:i] + long[i + 1 :] == short for i in range(len(long))
    )
