# SPDX-License-Identifier: MIT
"""Builds a rung of lab 04 with nvcc, for the card of this machine."""

from __future__ import annotations

import re
from collections.abc import Sequence

from grader.course.rungs import Rung
from grader.toolchain import gpu_probe
from grader.toolchain.cusim import order_of
from grader.toolchain.products import GPU, Build, failed, made
from grader.toolchain.scan.texts import HIDING, hides

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


def lacking(rung: Rung) -> str:
    """Why this machine's card cannot run a rung; "" if it can, or if there is none. A
    card runs what is for an earlier one, and what is for its own kind alone (sm_90a).
    """
    found = gpu_probe.card()
    if found is None or any(
        _runs(found.architecture, name) for name in rung.architectures
    ):
        return ""
    listed = ", ".join(rung.architectures)
    return (
        f"needs another GPU: this GPU, {found.name}, is {found.architecture}, but the "
        f"file is for {listed}. If another file calls this file, a lower file is used "
        "instead"
    )


def _runs(card: str, named: str) -> bool:
    if named.endswith("a"):
        return named == f"{card}a"
    return int(named.removeprefix("sm_")) <= int(card.removeprefix("sm_"))


def compiled(rung: Rung, *, used: Sequence[str] = (), folder: str = "") -> Build:
    """Build a rung by nvcc for the card: build.compiled in mode gpu."""
    if hidden := hides(rung, (*HIDING, "cusim")):
        return Build({}, forbidden=hidden)
    kit = gpu_probe.toolkit()
    if kit is None:
        return Build({}, blocked="nvcc is missing, or its libcudart.so")
    order = [*order_of(rung, GPU, folder), *gpu_probe.kit_words(kit)]
    order += [f"ARCH={architecture(rung)}"]
    return made(
        rung, order, GPU, used=used, folder=folder, also=kit.seen, explain=_failed
    )


def _failed(text: str) -> Build:
    """nvcc's first error: "FILE.cu(12): error: ..."."""
    error = _ERROR.search(text)
    if not error:
        return failed(text)
    place = f"{error['file']}:{error['line']}"
    return Build({}, error=f"nvcc does not compile it: {error['text']}", location=place)
