# SPDX-License-Identifier: MIT
"""Explains how much memory kernels moved, by cusim's counts, and how to move less."""

from __future__ import annotations

from collections.abc import Sequence

from cusim.report import Count

from grader.course.rungs import ROOT

NEIGHBOURS = (
    "Let neighbouring threads (threadIdx.x) take neighbouring elements in memory, "
    "along the axis with stride 1"
)
ALONE = 1.01  # of the 32 threads of a warp
APART = 31.0  # sectors a request of a warp's 32 threads: none shares one
PACK = 16  # bytes, the most that a thread can load or store at once
BANK = 4  # bytes that a bank of shared memory gives at a time


def counted(word: str, counts: list[Count]) -> float:
    """One of the words of course.traffic.MEANING, over all kernels."""
    space = "shared" if word.startswith("shared") else "global"
    of = [count for count in counts if count.space == space]
    requests = sum(count.requests for count in of)
    if word == "requests":
        return requests
    if word == "bytes":
        return sum(count.bytes for count in of)
    return sum(map(_passes, of)) / requests if requests else 0.0


def where(
    word: str, counts: list[Count], most: float, names: Sequence[str] = ()
) -> tuple[str | None, str]:
    """The line with the largest part of what is too much, and words for it."""
    shared = word.startswith("shared")
    of = [c for c in counts if (c.space == "shared") is shared]

    def excess(count: Count) -> float:
        if word.endswith("_per_request"):
            return _passes(count) - most * count.requests
        return count.requests if word == "requests" else count.bytes

    worst = max(of, key=excess)
    rate = _passes(worst) / worst.requests if worst.requests else 0.0
    file = worst.file.removeprefix(f"{ROOT}/")
    words = f". The largest part is the {worst.op} of {worst.width} bytes"
    words += f"{_operand(worst.memory, names)} in {worst.kernel}"
    words += f": {worst.requests:,} requests of {rate:.3g} "
    words += "wavefronts each" if shared else "sectors each"
    words += _conflict(worst, rate) if shared else _apart(word, worst, rate)
    return (f"{file}:{worst.line}" if worst.line else None), words


def _passes(count: Count) -> int:
    return count.wavefronts if count.space == "shared" else count.sectors


def _operand(memory: str, names: Sequence[str]) -> str:
    """of 'input', for a sentence; nothing where several tensors are accessed there."""
    kind, _, number = memory.partition(":")
    if kind == "tensor" and number.isdigit() and int(number) < len(names):
        return f" of '{names[int(number)]}'"
    return " of scratch memory" if kind == "scratch" else ""


def _conflict(worst: Count, rate: float) -> str:
    """How many lanes want different words of one bank, on average."""
    lanes = rate / max(1, worst.width // BANK)
    if lanes < 1.05:
        return ""
    return (
        f". This is a bank conflict: {max(2, round(lanes))} lanes use one bank. Give "
        "the array one more column as padding (tile[32][33]), or let neighbouring "
        "threads take neighbouring columns"
    )


def _apart(word: str, worst: Count, rate: float) -> str:
    """Why so many sectors of global memory, or requests."""
    if worst.requests and worst.lanes_per_request < ALONE:
        return (
            ". Only one thread of a warp works at this line, and the other threads do "
            "nothing. Give each thread its own elements"
        )
    if rate >= APART:
        return (
            ". At this line the threads of a warp move along the wrong axis: its "
            f"stride is not 1. So each thread needs its own sector. {NEIGHBOURS}"
        )
    if word == "requests" and worst.width < PACK:
        return (
            f". At this line a thread takes {worst.width} bytes at a time. If each "
            f"thread takes {PACK} bytes at once (for example a float4), it needs only "
            f"1/{PACK // worst.width} of the requests"
        )
    if rate > 2 * worst.width:  # a stride of 2 explains twice as many
        return (
            f". 32 neighbouring elements fill only {worst.width} sectors. {NEIGHBOURS}"
        )
    return ""
