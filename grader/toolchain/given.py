# SPDX-License-Identifier: MIT
"""Makes given objects: plain reference operators without source, one archive per dtype.

With them a student can do a lab without the lab before it. The handout carries them in
given/<arch>/; in the repository they are built on demand from lab 02's solutions. An
exhibit of a bug hunt is also in given/bug_hunt/, as it was handed out. The student
repairs one copy, and the student's case must expose the bug in the other.
"""

from __future__ import annotations

import functools
import hashlib
import platform
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

from signatures import DIRECTIONS

from grader import once
from grader.course import rungs
from grader.course.exhibits import HUNT
from grader.course.rungs import Rung
from grader.course.tasks import all_tasks
from grader.errors import GraderError
from grader.solution_marks import REGION, starter
from grader.toolchain.build import order_given
from grader.toolchain.make import binutils, build_folder, compiler
from grader.toolchain.products import DTYPES, objects
from grader.toolchain.symbols import symbols

LAB = "02_naive_c"  # whose solutions they are
MANIFEST = "MANIFEST"  # a handout has one at its root
GIVEN = "_given"  # of an exhibit as it was handed out: the end of its task's name
MARCH = {"x86_64": "x86-64-v2"}  # machine -> the oldest processor that is served

README = """# Given objects

Plain reference operators, compiled: no source, no debug information. `uses` in a lab's
`lab.toml` links one of them until your own file of an earlier task is right. So no lab
waits for the one before. The report says which file served:
`given/{arch}/matmul` is `matmul.f32.a` or `matmul.f64.a` of this folder.

They are slow on purpose (compiled with `-O2` for every {arch} processor). As soon as
your own file passes, it replaces them.

Licence: MIT, as all code of convlab ([LICENSE](../../LICENSE)).
"""


def arch() -> str:
    """The folder for this machine's processors."""
    return MARCH.get(platform.machine(), platform.machine())


def is_handout() -> bool:
    """Whether this tree is what students get: its lab 02 is no reference."""
    return (rungs.ROOT / MANIFEST).exists()


def is_untouched(rung: Rung) -> bool:
    """Whether a rung's files are those of the handout, an exhibit's case included."""
    files = [rung.file, *rung.also, *([rung.case_file] if rung.exhibit else [])]
    handed_out = _handed_out(rungs.ROOT / MANIFEST)
    return bool(handed_out) and all(
        file.exists()
        and handed_out.get(str(file.relative_to(rungs.ROOT)))
        == hashlib.sha256(file.read_bytes()).hexdigest()
        for file in files
    )


@functools.cache
def _handed_out(manifest: Path) -> dict[str, str]:
    """Path -> hash, of all files of a handout; empty where there is none."""
    if not manifest.exists():
        return {}
    lines = manifest.read_text(encoding="utf-8").splitlines()
    pairs = (line.split("  ", 1) for line in lines if "  " in line)
    return {path: digest for digest, path in pairs}


def find(operator: str, direction: str) -> tuple[str, str] | None:
    """An operator's name in reports and its archive, % for the dtype; None if there
    is none that defines this direction.
    """
    name = f"given/{arch()}/{operator}"
    folder = rungs.ROOT / "given" / arch()
    if not is_handout() and not folder.exists():
        folder = build_folder() / "given" / arch()
        build(operator, folder)
    files = [folder / f"{operator}.{dtype}.a" for dtype in DTYPES]
    if not all(defines(file, f"{operator}_{direction}") for file in files):
        return None
    return name, str(folder / f"{operator}.%.a")


def defines(archive: Path, symbol: str) -> bool:
    """Whether an archive exports a function."""
    if not archive.is_file():
        return False
    return symbol in symbols(archive, dynamic=False)[0]


# ---- building ------------------------------------------------------------------------


def operators() -> list[str]:
    """Those that lab 02 has a solution of."""
    tasks = [task for task in all_tasks() if not (task.is_hunt or task.functions)]
    return [task.operator for task in tasks if task.lab == LAB]


def build(operator: str, folder: Path) -> None:
    """Make an operator's archives in a folder, from the highest rungs of lab 02.

    Does nothing if these rungs and their headers have not changed since, or if a rung
    is no reference.
    """
    mine = [r for t in all_tasks() if t.id == f"{LAB}/{operator}" for r in t.rungs]
    mine = [r for r in mine if "BEGIN SOLUTION" in r.file.read_text(errors="replace")]
    files = [file for rung in mine for file in (rung.file, *rung.headers)]
    files += sorted((rungs.ROOT / "common").glob("*.[hm]*"))
    hashed = hashlib.sha256(compiler().encode())
    for file in files:
        hashed.update(f"{file.name}\0".encode() + file.read_bytes())
    for dtype in DTYPES if mine else ():
        pack = partial(_pack, operator, mine, dtype)
        once.made(folder / f"{operator}.{dtype}.a", of=hashed.hexdigest(), make=pack)


def _sources(operator: str, rungs: list[Rung], dtype: str) -> dict[Path, list[str]]:
    """Compiled objects, each with the functions that are taken from it."""
    march = f"-march={arch()}" if platform.machine() in MARCH else ""
    found: dict[Path, list[str]] = {}
    wanted = [f"{operator}_{direction}" for direction in DIRECTIONS]
    for rung in reversed(rungs):
        order_given(rung, march)
        file = objects(rung, "given")[dtype]
        defined = symbols(file, dynamic=False)[0]
        if mine := [name for name in wanted if name in defined]:
            found[file] = mine
        wanted = [name for name in wanted if name not in defined]
    return found


_tool = partial(binutils, making="a given object")


def _pack(operator: str, rungs: list[Rung], dtype: str, file: Path) -> None:
    """One object with nothing in it but code and two names, in an archive.

    Always the same bytes for the same source: no times, no names of users. What is
    needed on the way lies beside it: the folder is `once`'s.
    """
    work, parts = file.parent, []
    sources = _sources(operator, rungs, dtype)
    for number, (source, names) in enumerate(sources.items()):
        parts.append(str(work / f"{number}.o"))
        keep = [f"--keep-global-symbol={name}" for name in names]
        _tool("objcopy", "--strip-debug", *keep, str(source), parts[-1])
    whole = str(work / f"{operator}.o")
    _tool("ld", "-r", "-o", whole, *parts)
    _tool("objcopy", "--strip-unneeded", "--remove-section=.comment", whole)
    _tool("ar", "rcD", str(file), whole)


# ---- exhibits of a bug hunt ----------------------------------------------------------


def broken(rung: Rung) -> Rung:
    """The exhibit as it was handed out, as a rung of its own. It lies in the tree even
    if another build folder is named: make is told a path from the root.

    Raises GraderError if there is no copy of it.
    """
    root = rungs.ROOT if is_handout() else rungs.ROOT / "build"
    folder = root / "given" / HUNT / rung.task.split("/")[0]
    sources = [rung.file, *(file for file in rung.also if file.suffix == ".py")]
    copies = [folder / source.name for source in sources]
    if not is_handout():
        _derive(sources, copies)
    for copy in copies:
        if not copy.exists():
            raise GraderError(
                f"{copy.relative_to(rungs.ROOT)} is missing: it is the original of "
                f"'{rung.shown}'. Copy it from the handout"
            )
    task = f"{rung.task.removesuffix(GIVEN)}{GIVEN}"
    return replace(rung, task=task, file=copies[0], also=tuple(copies[1:]))


def give_exhibits(tree: Path) -> None:
    """Copy the exhibits of a handout's tree once more, as they are handed out."""
    for task in all_tasks():
        mine = [r for r in task.rungs if (tree / r.shown).exists()]
        for rung in mine if task.is_hunt else ():
            wrong = broken(rung)
            folder = tree / "given" / HUNT / task.lab
            folder.mkdir(parents=True, exist_ok=True)
            for file in (wrong.file, *wrong.also):
                shutil.copyfile(file, folder / file.name)


def _derive(sources: list[Path], copies: list[Path]) -> None:
    """Write the copies, if the sources still have their marks."""
    texts = [source.read_text(encoding="utf-8") for source in sources]
    if not any(map(REGION.search, texts)):
        return
    for text, copy in zip(texts, copies):
        made = starter(text)
        if copy.exists() and copy.read_text(encoding="utf-8") == made:
            continue
        with once.placed(copy) as new:
            new.write_text(made, encoding="utf-8")
