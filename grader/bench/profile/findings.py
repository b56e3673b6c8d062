# SPDX-License-Identifier: MIT
"""Explains the figures of a profile in sentences, with the figures that they use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grader.bench.profile.object_code import Loop
from grader.checks.speed.machine import Peaks
from grader.course.bands import Cost

AT_THE_LIMIT = 0.8  # of a peak
MANY_LOADS = 1.0  # for a multiply-add: a core does two of each in a cycle, at best


@dataclass(frozen=True)
class Profile:
    """The figures of one direction of one file on one case."""

    direction: str
    case: str
    seconds: float
    need: Cost
    peaks: Peaks
    hottest: Loop | None = None  # of the build that is timed
    share: float = 0.0  # of all instructions of the file that its lines have
    lines: Sequence[tuple[int, float]] = ()  # line of source, share of instructions


def hottest(counts: Counter[int], loops: Sequence[Loop]) -> tuple[Loop | None, float]:
    """The loop that executes most instructions, and its share of all."""
    total = counts.total()
    costs = [sum(counts[i.at] for i in loop.body) for loop in loops]
    if not total or not costs or not max(costs):
        return None, 0.0
    best = costs.index(max(costs))
    return loops[best], costs[best] / total


def same_loop(loop: Loop, others: Sequence[Loop]) -> Loop | None:
    """The loop of another build that comes from the same lines: of several, that with
    the most arithmetic.
    """
    first, last = loop.lines
    meet = [o for o in others if o.lines[0] <= last and o.lines[1] >= first]
    return max(meet, key=lambda o: (o.arithmetic, len(o.body)), default=None)


def by_line(counts: Counter[int], lines: dict[int, int]) -> list[tuple[int, float]]:
    """The lines that execute most instructions, and their shares."""
    found: Counter[int] = Counter()
    for at, count in counts.items():
        found[lines.get(at, 0)] += count
    total = counts.total() or 1
    return [(line, n / total) for line, n in found.most_common(5) if line]


def sentences(p: Profile) -> Iterator[str]:
    """From the whole to the loop, and what to try."""
    operations = p.need.flops
    rate = operations / p.seconds
    peak = 2 * p.peaks.fma
    yield f"{p.direction}, case {p.case}: a call takes {1e3 * p.seconds:.3g} ms."
    if operations:
        yield (
            f"It computes {rate / 1e9:.3g} GFLOP/s, {100 * rate / peak:.2g} % of this "
            f"core's peak of {peak / 1e9:.3g}."
        )
    moved = p.need.bytes / p.seconds
    memory = p.peaks.bandwidth[-1][1]
    yield (
        f"It moves its tensors at {moved / 1e9:.3g} GB/s; the core reads and writes "
        f"main memory at {memory / 1e9:.3g} GB/s."
    )
    if operations:
        turn = peak / memory
        intensity = operations / p.need.bytes
        side = "more" if intensity > turn else "less"
        limit = "the arithmetic" if intensity > turn else "the memory"
        yield (
            f"It does {intensity:.3g} operations for each byte of its tensors, {side} "
            f"than {turn:.3g}. At {turn:.3g}, arithmetic and main memory take equally "
            f"long. If the tensors are in main memory, {limit} limits this call."
        )
    if p.hottest:
        yield from _of_loop(p.hottest, p.share)
    yield f"What to try: {_advice(p, rate / peak, moved / memory)}"


def _of_loop(loop: Loop, share: float) -> Iterator[str]:
    first, last = loop.lines
    where = f"lines {first} to {last}" if first != last else f"line {first}"
    yield (
        f"{100 * share:.0f} % of the file's instructions are in the loop of {where}: "
        f"{len(loop.body)} instructions in each iteration."
    )
    if not loop.arithmetic:
        yield "The loop neither multiplies nor adds: it moves or compares numbers."
        return
    fused = loop.multiply_adds == loop.arithmetic
    what = "multiply-adds" if fused else "multiplications and additions"
    if loop.is_scalar:
        how = "each on one number at a time"
    elif loop.scalars:
        how = f"{loop.scalars} of them on one number at a time, the rest on vectors"
    else:
        how = "all on vectors"
    yield (
        f"An iteration has {loop.arithmetic} {what}, {how}, and {loop.loads} loads: "
        f"{loop.loads / loop.arithmetic:.2g} loads for each operation."
    )
    if loop.spills:
        yield (
            f"{loop.spills} instructions read or write the stack, because the "
            "registers are full."
        )


def _advice(p: Profile, computing: float, moving: float) -> str:
    """What limits the call, as far as these figures tell."""
    loop = p.hottest
    if computing >= AT_THE_LIMIT:
        return (
            "use an algorithm with fewer operations. This code already computes "
            "almost as fast as the core can."
        )
    if moving >= AT_THE_LIMIT:
        return (
            "move fewer bytes. The call already moves data almost as fast as this "
            "core can."
        )
    if loop is None:
        return "look at the innermost loop: is there a loop that multiplies?"
    if loop.arithmetic and loop.is_scalar:
        return (
            "let the compiler use vectors. The loop works on one number at a time. "
            "Does its innermost index move along memory, and does every iteration do "
            "the same?"
        )
    if loop.scalars > loop.arithmetic / 2:
        return (
            "write several sums side by side. Vectors are multiplied, but their "
            "numbers are added one by one, because a float sum has an order."
        )
    if loop.spills:
        return "use a smaller block: its sums do not fit into the registers."
    if loop.arithmetic and loop.loads / loop.arithmetic > MANY_LOADS:
        return (
            "do fewer loads. Hold sums in registers while the innermost loop runs. "
            "Then several multiply-adds use each loaded number."
        )
    if not loop.arithmetic:
        return (
            "do less in this loop: can its work be done once, outside of the loop, or "
            "not at all?"
        )
    return (
        "find out why the loop waits. Are the numbers in the first cache when the "
        "loop needs them? Are there enough independent sums (8 or more)?"
    )
