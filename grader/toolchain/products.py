# SPDX-License-Identifier: MIT
"""Describes the products of a rung's build: files, symbols and the first error.

The rules are in common/rung.mk and common/cuda.mk. The build of a rung in CUDA is in a
folder that begins with cuda-MODE. The folder names the worker that runs it.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path

from ladders.linked_parts import LOWER, PART
from signatures import DIRECTIONS
from signatures.view_names import PREFIX, VIEWS

from grader import once, working
from grader.course import quoted_line
from grader.course.foreign import THE_LINE, short
from grader.course.rungs import HALF, Rung
from grader.toolchain.make import LATE, build_folder, reason, run_make
from grader.toolchain.scan import elf
from grader.toolchain.symbols import (
    FORBIDDEN_SYMBOLS,
    WATCHING,
    named,
    openmp_of_its_own,
    symbols,
    weak,
)

DTYPES = ("f32", "f64")
SANITIZE = "sanitize"  # a mode of rung.mk, for float only
TEAM = "races"  # the same: every access is told to worker-races
TRACE = "trace"  # of lab 04: every access is told to cusim
GPU = "gpu"  # of lab 04: by nvcc, for a real card
IN_CUDA = {
    "release": "run",
    "debug": "debug",
    SANITIZE: "check",
    TRACE: TRACE,
    GPU: GPU,
}
WATCHED = (SANITIZE, TEAM, TRACE)  # compilers add calls of their own
# how the names of folders begin
FLOAT_ONLY = (SANITIZE, TEAM, "cuda-check", "cuda-trace")

SAME = "a file must be the same in every build"
NOWHERE = (
    "which no file defines: is this a typing mistake, or a function that you have not "
    "written?"
)
GONE = (
    "was removed or renamed while it was graded. Restore it and run the command again"
)

_ERROR = re.compile(
    r"^(?P<file>[^\s:]+):(?P<line>\d+):(?:\d+:)? (?:fatal )?[Ee]rror: (?P<text>.*)$"
)
_LINKER = re.compile(r"undefined reference to `(?P<name>[^']+)'")
_EXPLAINED = (
    (r"stray '\\37[67]'|UTF-16", "this file is UTF-16: save it as UTF-8"),
    (
        r"stray '\\302'|U\+00A0",
        "a no-break space, or another character that C does not know. Was it copied "
        "from a page? Type it again",
    ),
    (
        r"(operator.*__half|__half.*operator)",
        "in the build for float16 `real` is __half: write accum_from(x[...]) to "
        "compute with it, and real_from(...) to store",
    ),
    (
        r"expected .*['‘];['’]",
        "a semicolon is missing on this line or at the end of the line before",
    ),
    (r"undeclared", "a name is used before it is declared: a typing mistake?"),
    (r"implicit declaration", "this function is not declared: a typing mistake?"),
    (r"conflicting types", "the prototype differs from the one in common/operators.h"),
    (r"too (few|many) arguments", "compare the call with the function's prototype"),
    (r"incompatible (pointer )?type", "the types of the two sides differ"),
    (r"#include nested", "does the file include itself?"),
    (r"No such file", "include only operators.h and headers of the C library"),
    (r"expected .* at end of input", "a closing brace is missing"),
    (
        r"control reaches end|return-statement|non-void function does not return",
        "a return is missing: an operator ends with return STATUS_OK",
    ),
)


@dataclass(frozen=True)
class Build:
    """What came of building a rung."""

    libraries: dict[str, Path]  # by dtype; empty after an error
    directions: tuple[str, ...] = ()  # that it defines
    error: str = ""  # one sentence
    forbidden: str = ""  # one sentence: a way to somebody else's code
    location: str | None = None  # file:line of it
    wants: tuple[str, ...] = ()  # compiled, but these symbols of its uses are missing
    blocked: str = ""  # one sentence: nothing can serve one of them
    uses: dict[str, str] = field(default_factory=dict)  # alias -> what serves it
    late: bool = False  # the clock ended the compiler: that says nothing of the file


# ---- where its files lie -------------------------------------------------------------


def folder_of(rung: Rung, mode: str, folder: str = "") -> str:
    """Where a mode of the grader is built; `folder` begins with the mode's name."""
    if rung.file.suffix != ".cu":
        return folder or mode
    named = f"cuda-{IN_CUDA.get(mode, mode)}"
    return folder.replace(mode, named, 1) if folder else named


def dtypes_of(rung: Rung, folder: str) -> tuple[str, ...]:
    """What a folder is built for. A view is the same for every dtype. A rung is watched
    in float, and in half if it computes in nothing else.
    """
    if rung.is_view or folder.startswith(FLOAT_ONLY):
        return (DTYPES[0], *(rung.dtypes if rung.numerics == HALF else ()))
    return (*DTYPES, *rung.dtypes)


def products(rung: Rung, folder: str, ending: str) -> dict[str, Path]:
    """Where rung.mk or cuda.mk puts what it makes of a rung, by dtype."""
    name = rung.shown.removeprefix("labs/").removesuffix(rung.file.suffix)
    stem = build_folder() / "rungs" / folder / name
    return {
        dtype: stem.parent / f"{stem.name}.{dtype}.{ending}"
        for dtype in dtypes_of(rung, folder)
    }


def objects(rung: Rung, mode: str, folder: str = "") -> dict[str, Path]:
    """Its objects by dtype; in the `folder` of a walk with all that it calls inside."""
    return products(rung, folder_of(rung, mode, folder), "whole" if folder else "o")


# ---- making them ---------------------------------------------------------------------


def made(
    rung: Rung,
    order: Sequence[str],
    mode: str,
    *,
    used: Sequence[str],
    folder: str,
    also: Sequence[Path] = (),
    explain: Callable[[str], Build] | None = None,
) -> Build:
    """Compile a rung and link it with these used objects by an `order` to make.

    Without them a rung that calls others is compiled only, and `wants` says what for.
    The compiler sees `also` and the headers of the ladder; `explain` reads its first
    error.
    """
    where = folder_of(rung, mode, folder)
    seen = [*also, *rung.headers]
    with turn(rung, where), working.on(f"compile {rung.shown}"):
        return _made(rung, order, mode, used, where, seen, explain or failed)


def turn(rung: Rung, folder: str) -> AbstractContextManager[object]:
    """Nobody else builds this rung in this folder meanwhile. Its dtypes are one product
    of make, which knows what of it is out of date.
    """
    return once.alone(products(rung, folder, "so")["f32"])


def _made(
    rung: Rung,
    order: Sequence[str],
    mode: str,
    used: Sequence[str],
    where: str,
    also: Sequence[Path],
    explain: Callable[[str], Build],
) -> Build:
    own = products(rung, where, "o")["f32"].parent
    done = run_make([*order, "objects"], sees=rung.file, own=own, also=also)
    if done.returncode:
        return _placed(rung, _wrong(done, explain))
    if rung.uses and not used:
        missing = _missing(rung, mode)
        directions = directions_of(rung, objects(rung, mode))
        if own_part := sorted(name for name in missing if name.startswith(PART)):
            return Build({}, error=f"calls '{own_part[0]}', {NOWHERE}")
        if wants := wanted(rung, missing):
            return Build({}, directions, wants=wants)
    # linking sees what is used; the source text is not read any more
    done = run_make([*order, f"USES={' '.join(used)}"], sees=rung.file, also=also)
    if done.returncode:
        return _wrong(done, explain)
    return judged(rung, products(rung, where, "so"), mode)


def _wrong(
    done: subprocess.CompletedProcess[str], explain: Callable[[str], Build]
) -> Build:
    """What is told of a compiler that did not succeed."""
    if done.returncode == LATE:
        return Build({}, error=reason(done.stdout), late=True)
    return explain(done.stdout)


def _placed(rung: Rung, build: Build) -> Build:
    """An error without a place, and a line, of somebody else's file."""
    if build.location is None or rung.holds(build.location):
        return build
    return replace(build, location=None, error=build.error.split(THE_LINE)[0])


def _missing(rung: Rung, mode: str) -> set[str]:
    """The functions that the compiled rung calls and does not define."""
    files = objects(rung, mode).values()
    return {name for file in files for name in symbols(file, dynamic=False)[1]}


def wanted(rung: Rung, missing: Collection[str]) -> tuple[str, ...]:
    """Those of the missing functions that are of the rung's uses."""
    named = (use for use in rung.uses if use.alias != LOWER)
    declared = (symbol for use in named for symbol in use.symbols)
    return tuple(symbol for symbol in declared if symbol in missing)


def directions_of(rung: Rung, files: dict[str, Path]) -> tuple[str, ...]:
    """Which directions an object defines."""
    return _defined(rung, symbols(files["f32"], dynamic=False)[0])


def _defined(rung: Rung, names: set[str]) -> tuple[str, ...]:
    """The directions of an operator, or the views, that have one of these names."""
    if rung.is_view:
        return tuple(view for view in VIEWS if f"{PREFIX}{view}" in names)
    operator = rung.operator
    return tuple(d for d in DIRECTIONS if f"{operator}_{d}" in names)


# ---- judging them --------------------------------------------------------------------


def judged(rung: Rung, libraries: dict[str, Path], mode: str) -> Build:
    """What built libraries take from elsewhere, and which directions they define."""
    defined = symbols(libraries["f32"])[0]
    taken = {name for file in libraries.values() for name in symbols(file)[1]}
    borrowed = sorted(taken & FORBIDDEN_SYMBOLS)
    if mode not in WATCHED:
        borrowed += filter(None, [_of_sanitizers(taken)])
    if borrowed:
        return Build({}, forbidden=f"calls '{borrowed[0]}', which no file needs")
    every = {name for file in libraries.values() for name in named(file)}
    if mode not in WATCHED and (theirs := _of_sanitizers(every)):
        return Build({}, forbidden=f"defines '{theirs}', which a sanitizer calls")
    if replaced := openmp_of_its_own(libraries.values()):
        return Build({}, forbidden=f"defines '{replaced}', which is OpenMP's own")
    own = rung.file.suffix == ".c" and mode not in WATCHED  # which add to both
    files = list(libraries.values()) if own else []
    if asked := sorted(name for file in files for name in weak(file)):
        return Build({}, forbidden=f"tests whether '{asked[0]}' exists: {SAME}")
    if any(elf.has_own_table(file.with_suffix(".o")) for file in files):
        return Build({}, forbidden=elf.OWN_TABLE)
    if found := next(filter(None, map(elf.forbidden, files)), ""):
        return Build({}, forbidden=found)
    directions = _defined(rung, defined)
    if not directions:
        exported = ", ".join(f"'{name}'" for name in sorted(defined)[:3])
        lacking = _lacking(rung)
        return Build({}, error=f"{lacking} (it exports {exported or 'nothing'})")
    return Build(libraries, directions)


def _lacking(rung: Rung) -> str:
    """What a rung is to define, and does not."""
    if rung.is_view:
        return f"defines no function of common/tensor_view.h: '{PREFIX}{VIEWS[0]}' ..."
    operator = rung.operator
    return f"defines neither '{operator}_forward' nor '{operator}_backward'"


def _of_sanitizers(names: set[str]) -> str:
    """The first of these names that a sanitizer's function has; "" if none does."""
    return min((name for name in names if name.startswith(WATCHING)), default="")


def failed(text: str, explained: Sequence[tuple[str, str]] = _EXPLAINED) -> Build:
    """The first error, its line, and what it usually means."""
    for line in text.splitlines():
        match = _ERROR.match(line)
        if match and not match["file"].startswith("/tmp/cc"):  # of the assembler
            location = f"{match['file']}:{match['line']}"
            meaning = next(
                (words for pattern, words in explained if re.search(pattern, line)), ""
            )
            source = short(quoted_line.line(match["file"], int(match["line"])), 120)
            sentence = f"{match['text']}{f' ({meaning})' if meaning else ''}"
            if source:
                sentence += f"{THE_LINE}{source}"
            return Build({}, error=sentence, location=location)
    match = _LINKER.search(text)
    if match:
        return Build({}, error=f"calls '{match['name']}', {NOWHERE}")
    return Build({}, error=reason(text))
