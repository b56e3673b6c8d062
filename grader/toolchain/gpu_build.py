# SPDX-License-Identifier: MIT
"""A rung of lab 04, built by nvcc for the card of this machine."""

from __future__ import annotations

import re
from collections.abc import Sequence

from grader.course.rungs import Rung
from grader.toolchain import gpu_probe
from grader.toolchain.cusim import order_of
from grader.toolchain.products import GPU, HIDING, Build, failed, hides, made

_ERROR = re.compile(r"^(?P<file>[^\s(]+)\((?P<line>\d+)\): error: (?P<text>.*)$", re.M)


def architecture(rung: Rung) -> str:
    """What a rung is compiled for: this machine's card, or all that it is for where
    there is none. A rung for one kind of card alone says so in lab.toml with the letter
    a: sm_90a.
    """
    found = gpu_probe.card()
    if found is None:
        return " ".join(rung.architectures)
    name = found.architecture
    return f"{name}a" if f"{name}a" in rung.architectures else name


def fits(rung: Rung) -> bool:
    """Whether there is a card that can run it: a rung that needs a GPU may need one of
    a certain kind, and no other.
    """
    found = gpu_probe.card()
    if found is None:
        return False
    mine = (found.architecture, f"{found.architecture}a")
    return not rung.needs or bool(set(mine) & set(rung.architectures))


def compiled(rung: Rung, *, used: Sequence[str] = (), folder: str = "") -> Build:
    """Build a rung by nvcc for the card: build.compiled in mode gpu."""
    if hidden := hides(rung, (*HIDING, "cusim")):
        return Build({}, forbidden=hidden)
    kit = gpu_probe.toolkit()
    if kit is None:
        return Build({}, blocked="there is no nvcc with its libcudart.so here")
    order = [*order_of(rung, GPU, folder), *gpu_probe.kit_words(kit)]
    order += [f"ARCH={architecture(rung)}"]
    root = kit.nvcc.resolve().parents[1]
    also = [] if root.is_relative_to("/usr") else [root]
    return made(rung, order, GPU, used=used, folder=folder, also=also, explain=_failed)


def _failed(text: str) -> Build:
    """nvcc's first error: "FILE.cu(12): error: ..."."""
    error = _ERROR.search(text)
    if not error:
        return failed(text)
    place = f"{error['file']}:{error['line']}"
    return Build({}, error=f"nvcc does not take it: {error['text']}", location=place)
