# SPDX-License-Identifier: MIT
"""Builds a rung's file into shared objects, or explains the first error.

common/rung.mk has the rules for C, common/cuda.mk the rules for CUDA: for cusim or for
a card. linking.py chooses the objects of the rungs that a rung uses.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from grader.course.rungs import ROOT, Rung
from grader.errors import ProductError
from grader.toolchain import cusim, gpu_build
from grader.toolchain.make import build_folder, reason, run_make
from grader.toolchain.products import (
    GONE,
    GPU,
    Build,
    dtypes_of,
    folder_of,
    made,
    objects,
    turn,
)
from grader.toolchain.scan.texts import hides, hides_in_tokens, machine_code

Stamps = tuple[tuple[str, int, int], ...]  # of files: name, date, size
_kept: dict[tuple[object, ...], tuple[str, Stamps, Build]] = {}


def compiled(
    rung: Rung, *, mode: str = "release", used: Sequence[str] = (), folder: str = ""
) -> Build:
    """Build a rung with these used objects, in the words of common/uses.mk.

    Without them a rung that calls others is compiled only, and `wants` says what for.
    A process that grades again and again, as `make watch` does, has the same answer for
    the same files: make takes 40 ms in its sandbox to say that nothing has changed.
    """
    named = tuple(os.environ.get(name, "") for name in ("CC", "CXX", "NVCC", "ISA"))
    key = (build_folder(), rung, mode, tuple(used), folder, named)
    text, stamps, build = _kept.get(key, ("", (), Build({})))
    if text == rung.sha256 and stamps == _stamps(rung, mode, used, build):
        return build
    text = rung.sha256
    build = _compiled(rung, mode, used, folder)
    if build.libraries or build.wants:
        _kept[key] = text, _stamps(rung, mode, used, build), build
    return build


def forget() -> None:
    """Build all anew from here on."""
    _kept.clear()


def _stamps(rung: Rung, mode: str, used: Sequence[str], build: Build) -> Stamps:
    """Of all that a build is made of but the rung itself, and of what was made."""
    files: set[Path] = {*build.libraries.values(), *(ROOT / "common").rglob("*.*")}
    files.update(rung.headers)
    if build.wants:
        files.update(objects(rung, mode).values())
    patterns = filter(None, (one.partition("@")[2] for one in used))
    for pattern in patterns:
        files.update(Path(pattern.replace("%", dtype)) for dtype in build.libraries)
    return tuple(_stamped(sorted(files)))


def _stamped(files: Iterable[Path]) -> Iterable[tuple[str, int, int]]:
    for file in files:
        if "__pycache__" in file.parts:
            continue
        try:
            found = file.stat()
        except OSError:
            yield str(file), 0, 0
        else:
            yield str(file), found.st_mtime_ns, found.st_size


def _compiled(rung: Rung, mode: str, used: Sequence[str], folder: str) -> Build:
    """Build it."""
    if mode == GPU:
        return gpu_build.compiled(rung, used=used, folder=folder)
    if rung.needs:
        return Build({}, blocked="needs a GPU: cusim cannot run this rung")
    if rung.file.suffix == ".cu":
        return cusim.compiled(rung, mode=mode, used=used, folder=folder)
    if not rung.file.exists():
        return Build({}, error=f"'{rung.shown}' {GONE}")
    if hidden := hides(rung):
        return Build({}, forbidden=hidden)
    order = [*_order(rung, mode), *([f"FOLDER={folder}"] if folder else [])]
    built = made(rung, order, mode, used=used, folder=folder)
    where = folder_of(rung, mode, folder)
    if hidden := hides_in_tokens(rung, where):
        return Build({}, forbidden=hidden)
    if built.libraries and (by_hand := machine_code(rung, where)):
        return Build({}, forbidden=by_hand)
    return built


def _order(rung: Rung, mode: str) -> list[str]:
    """What make is told of a rung in C."""
    order = ["-f", "common/rung.mk", f"RUNG={rung.shown}", f"BUILD={build_folder()}"]
    order += [f"MODE={mode}", f"EXTRA={' '.join(rung.flags)}"]
    return [*order, f"DTYPES={' '.join(dtypes_of(rung, folder_of(rung, mode)))}"]


def order_given(rung: Rung, march: str) -> None:
    """Compile a solution as a given object, for old processors too.

    Raises ProductError if that fails: the solution is ours.
    """
    order = [*_order(rung, "given"), f"MARCH={march}", "objects"]
    with turn(rung, "given"):
        done = run_make(order, sees=rung.file, also=rung.headers)
    if done.returncode:
        raise ProductError(f"cannot build a given object: {reason(done.stdout)}")
