# SPDX-License-Identifier: MIT
"""Builds rungs of lab 04 from a .cu file into shared objects that run without a GPU.

common/cuda.mk has the rules, which follow cusim's own rules. This module runs them in
the compiler's sandbox and turns the compiler's output into one sentence.
"""

from __future__ import annotations

import functools
import shutil
import sys
from collections.abc import Sequence

from cusim.messages import shorten

from grader.course.rungs import ROOT, Rung
from grader.errors import GraderError, ProductError
from grader.toolchain import sandbox
from grader.toolchain.make import build_folder, make_tools, named_cpp, reason
from grader.toolchain.products import IN_CUDA, Build, dtypes_of, failed, folder_of, made
from grader.toolchain.scan.texts import HIDING, hides

SIMULATOR = "cusim, which runs CUDA kernels on the CPU"
HIDING_HERE = (*HIDING, "cusim", "##", "%:%:")  # a rung is the same on a card


@functools.cache
def build_tools(modes: str = "run check trace") -> None:
    """The workers of lab 04 and the runtime. Raises GraderError if that fails."""
    name = named_cpp()
    if not shutil.which(name.split()[0]):
        raise GraderError(
            f"there is no C++ compiler ('{name}'), but lab 04 needs one. Install one "
            "(on Debian: apt-get install g++) or name one with CXX="
        )
    done = make_tools([f"CXX={name}", f"MODES={modes}", "cuda"], SIMULATOR)
    if done.returncode:
        raise ProductError(f"cannot build cusim: {reason(done.stdout)}")


def compiled(
    rung: Rung, *, mode: str = "release", used: Sequence[str] = (), folder: str = ""
) -> Build:
    """Build a rung with these used objects: build.compiled for a .cu file."""
    if hidden := hides(rung, HIDING_HERE):
        return Build({}, forbidden=hidden)
    build_tools(*(["debug"] if mode == "debug" else []))
    python = sandbox.python_paths()
    order = [*order_of(rung, mode, folder), f"CXX={named_cpp()}"]
    order += [f"EXTRA={' '.join(rung.flags)}"]
    return made(
        rung, order, mode, used=used, folder=folder, also=python, explain=_failed
    )


def order_of(rung: Rung, mode: str, folder: str) -> list[str]:
    """What make is told of a rung in CUDA, whoever compiles it."""
    where = folder_of(rung, mode, folder)
    # -O: what is said of two dtypes comes one after the other
    order = ["-O", "-f", "common/cuda.mk", f"RUNG={rung.shown}"]
    order += [f"BUILD={build_folder()}", f"MODE={IN_CUDA[mode]}", f"FOLDER={where}"]
    order += [f"DTYPES={' '.join(dtypes_of(rung, where))}", f"PYTHON={sys.executable}"]
    return order


def _failed(text: str) -> Build:
    """The first error, as cusim words it."""
    return failed(shorten(text, ROOT) or text)
