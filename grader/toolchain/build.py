# SPDX-License-Identifier: MIT
"""From a rung's file to shared objects, or to the first error in words.

In C by common/rung.mk, in CUDA by common/cuda.mk for cusim or for a card. What a rung
uses of others is linking.py's question.
"""

from __future__ import annotations

from collections.abc import Sequence

from grader.course.rungs import Rung
from grader.errors import GraderError
from grader.toolchain import cusim, gpu_build
from grader.toolchain.make import build_folder, reason, run_make
from grader.toolchain.products import (
    GONE,
    GPU,
    Build,
    dtypes_of,
    folder_of,
    hides,
    hides_in_tokens,
    made,
)


def compiled(
    rung: Rung, *, mode: str = "release", used: Sequence[str] = (), folder: str = ""
) -> Build:
    """Build a rung with these used objects, each "name=symbol@object" (rung.mk).

    Without them a rung that calls others is compiled only, and `wants` says what for.
    """
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
    hidden = hides_in_tokens(rung, folder_of(rung, mode, folder))
    return Build({}, forbidden=hidden) if hidden else built


def _order(rung: Rung, mode: str) -> list[str]:
    """What make is told of a rung in C."""
    order = ["-f", "common/rung.mk", f"RUNG={rung.shown}", f"BUILD={build_folder()}"]
    order += [f"MODE={mode}", f"EXTRA={' '.join(rung.flags)}"]
    return [*order, f"DTYPES={' '.join(dtypes_of(rung, folder_of(rung, mode)))}"]


def order_given(rung: Rung, march: str) -> None:
    """Compile a solution as a given object, for old processors too.

    Raises GraderError if that fails: the solution is ours.
    """
    done = run_make(
        [*_order(rung, "given"), f"MARCH={march}", "objects"], sees=rung.file
    )
    if done.returncode:
        raise GraderError(f"cannot build a given object: {reason(done.stdout)}")
