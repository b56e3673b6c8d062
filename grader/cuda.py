# SPDX-License-Identifier: MIT
"""Rungs of lab 04: from a .cu file to shared objects that run without a GPU.

common/cuda.mk has the rules, which are those of cusim; this module calls them behind
the compiler's walls and turns what was said into one sentence, as build.py does for C.
A build lies in a folder that begins with cuda-MODE, and that names its worker.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from cusim.messages import shorten

from grader import build as c
from grader import gpu
from grader.build import DTYPES, GPU, HIDING, SANITIZE, TRACE, Build, build_folder
from grader.errors import GraderError
from grader.supervisor import sandbox
from grader.supervisor.session import Outside
from grader.tasks import ROOT, Rung

MODES = {"release": "run", "debug": "debug", SANITIZE: "check", TRACE: TRACE, GPU: GPU}
WORKER = "worker-cuda-run"  # of the plain build
FLOAT_ONLY = ("cuda-check", "cuda-trace")
HIDING_HERE = (*HIDING, "cusim", "##", "%:%:")  # a rung is the same on a card


def named_compiler() -> str:
    """The C++ compiler's name: CXX, or g++."""
    return os.environ.get("CXX", "").strip() or "g++"


@functools.cache
def build_tools(modes: str = "run check trace") -> None:
    """The workers of lab 04 and the runtime. Raises GraderError if that fails."""
    name = named_compiler()
    if not shutil.which(name.split()[0]):
        raise GraderError(
            f"there is no C++ compiler ('{name}'), which lab 04 needs: install one (on "
            "Debian: apt-get install g++) or name one with CXX="
        )
    order = ["-f", "grader/tools.mk", f"BUILD={build_folder()}", f"CXX={name}"]
    order += [f"MODES={modes}", "cuda"]
    done = c.run_make(order)
    if done.returncode:
        raise GraderError(f"cannot build cusim: {c.reason(done.stdout)}")


def folder_of(mode: str) -> str:
    """Where a mode of the grader is built: cuda-run, cuda-check ..."""
    return f"cuda-{MODES[mode]}"


def program_of(library: Path) -> str:
    """The worker that runs a shared object: told by the folder it was built in."""
    for part in library.parts:
        if part.startswith("cuda-"):
            return "-".join(["worker", *part.split("-")[:2]])
    return "worker"


def outside_of(program: str) -> Outside | None:
    """What a worker on a GPU needs beyond its walls; None for the others."""
    if program != gpu.PROGRAM:
        return None
    return Outside(tuple(gpu.devices()), gpu.environment())


def runtime_of(program: str) -> list[Path]:
    """What a worker needs beside itself: the runtime it is linked with."""
    if not program.startswith("worker-cuda-"):
        return []
    if program == gpu.PROGRAM:
        return gpu.seen()
    name = Path(named_compiler().split()[0]).name
    mode = program.removeprefix("worker-cuda-")
    return [build_folder() / "cusim" / "runtime" / f"{name}-{mode}"]


def products(rung: Rung, folder: str, ending: str) -> dict[str, Path]:
    """Where cuda.mk puts what it makes of a rung, by dtype."""
    return c.products(rung, folder, ending, _dtypes(rung, folder))


def _dtypes(rung: Rung, folder: str) -> tuple[str, ...]:
    if folder.startswith(FLOAT_ONLY):
        return DTYPES[:1]
    return (*DTYPES, *rung.dtypes)


def compiled(
    rung: Rung, *, mode: str = "release", used: Sequence[str] = (), folder: str = ""
) -> Build:
    """Build a rung with these used objects: build.compiled for a .cu file."""
    if hidden := c.hides(rung, HIDING_HERE):
        return Build({}, forbidden=hidden)
    build_tools(*(["debug"] if mode == "debug" else []))
    where = folder.replace(mode, folder_of(mode), 1) if folder else folder_of(mode)
    # -O: what is said of two dtypes comes one after the other
    order = [
        "-O",
        "-f",
        "common/cuda.mk",
        f"RUNG={rung.shown}",
        f"BUILD={build_folder()}",
    ]
    order += [f"MODE={MODES[mode]}", f"FOLDER={where}", f"CXX={named_compiler()}"]
    order += [
        f"EXTRA={' '.join(rung.flags)}",
        f"DTYPES={' '.join(_dtypes(rung, where))}",
    ]
    order += [f"PYTHON={sys.executable}"]
    own = products(rung, where, "o")["f32"].parent
    python = sandbox.python_paths()
    done = c.run_make([*order, "objects"], walls=rung.file, own=own, also=python)
    if done.returncode:
        return failed(done)
    if rung.uses and not used and (wants := c.wanted(rung, mode)):
        made = c.objects(rung, mode)
        return Build({}, c.directions_of(rung, made), wants=wants)
    link = [*order, f"USES={' '.join(used)}"]
    done = c.run_make(link, walls=rung.file, also=python)
    if done.returncode:
        return failed(done)
    return c.judged(rung, products(rung, where, "so"), mode)


def failed(done: subprocess.CompletedProcess[str]) -> Build:
    """The first error, as cusim words it."""
    return c.failed(shorten(done.stdout, ROOT) or done.stdout)
