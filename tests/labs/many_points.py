# SPDX-License-Identifier: MIT
"""Times lab 05's subm_conv3d on 100,000 points, few of a volume's cells or all of them.

    python -m tests.labs.many_points    docs/results/many_points.md

Run `make build LAB=05` first. With ISA=avx2 behind `make` and in the environment, the
page is many_points_avx2.md. The calls of all rows run in turns, on one thread. The
time is the processor time of this thread, so that other programs count little.
"""

from __future__ import annotations

import itertools
import math
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from grader.bench.extension_module import loaded
from grader.checks.speed import machine
from grader.toolchain import isa
from tests.proofs import pages

POINTS, CHANNELS, TURNS = 100_000, 64, 7
FILLED = (1, 10, 25, 100)  # percent of a cube's cells that have a point
ORDERS = ("random", "rising")
TEXT = """# subm_conv3d with 100,000 points{}

Made by `python -m tests.labs.many_points` on {}, {}; 1 thread.
One core's measured peak is {:.0f} GFLOP/s in float32.

subm_conv3d of lab 05 in float32, 64 channels in and out, a kernel of 3 x 3 x 3. The
points lie in a cube. They are drawn at random; in the order *rising* their rows are
sorted by z, y and x. `forward` contains the search for all pairs. A multiply-add counts
as two operations; the numbers are GFLOP/s, the median of {} turns, and in brackets the
median's share of the peak."""


class Cloud:
    """Points with features, and the three parts of a layer's work."""

    def __init__(self, percent: int, order: str) -> None:
        self.subm_conv3d = loaded("subm_conv3d").subm_conv3d
        generator = torch.Generator().manual_seed(percent)
        drawn = partial(torch.randn, generator=generator)
        self.coordinates = coordinates(percent, order, generator)
        self.features = drawn(POINTS, CHANNELS)
        self.weight = drawn(CHANNELS, CHANNELS, 3, 3, 3)
        self.bias = drawn(CHANNELS)
        self.grad_output = drawn(POINTS, CHANNELS)
        call = torch.ops.convlab.subm_conv3d
        count = call(self.features, self.coordinates, self.weight, None, [1, 1, 1])[2]
        self.pairs = int(count.sum())

    def parts(self) -> dict[str, Callable[[], Any]]:
        """What is timed, by name."""
        features = self.features.clone().requires_grad_()
        weight = self.weight.clone().requires_grad_()
        of_features = self.output(features, self.weight)
        of_weight = self.output(self.features, weight)
        return {
            "forward": partial(self.output, self.features, self.weight),
            "grad_features": partial(self.gradient, of_features, features),
            "grad_weight": partial(self.gradient, of_weight, weight),
        }

    def output(self, features: Tensor, weight: Tensor) -> Tensor:
        """Forward."""
        found: Tensor = self.subm_conv3d(features, self.coordinates, weight, self.bias)
        return found

    def gradient(self, output: Tensor, leaf: Tensor) -> Any:
        """Backward to one tensor."""
        return torch.autograd.grad(output, leaf, self.grad_output, retain_graph=True)

    def gflops(self, seconds: float) -> float:
        """Operations of the products of all pairs, in 10^9 a second."""
        return 2e-9 * self.pairs * CHANNELS * CHANNELS / seconds


def coordinates(percent: int, order: str, generator: torch.Generator) -> Tensor:
    """Rows n, z, y, x of distinct cells of a cube."""
    side = math.ceil((POINTS * 100 / percent) ** (1 / 3))
    cells = torch.randperm(side**3, generator=generator)[:POINTS]
    if order == "rising":
        cells = cells.sort().values
    z, y, x = torch.unravel_index(cells, (side, side, side))
    return torch.stack([torch.zeros_like(z), z, y, x], 1).int()


def seconds(work: Callable[[], Any]) -> float:
    """Processor time of a call."""
    start = time.thread_time()
    work()
    return time.thread_time() - start


def main() -> int:
    """Measure, and write the page."""
    torch.set_num_threads(1)
    machine.keep_memory()
    clouds = {key: Cloud(*key) for key in itertools.product(FILLED, ORDERS)}
    works = {
        (key, part): work
        for key, cloud in clouds.items()
        for part, work in cloud.parts().items()
    }
    times: dict[Any, list[float]] = {key: [] for key in works}
    for _ in range(TURNS):
        for key, work in works.items():
            times[key].append(seconds(work))
    peak = 2e-9 * machine.rate("fma")
    rows = []
    for (percent, order), cloud in clouds.items():
        cells = [f"{percent} %", order, f"{cloud.pairs / POINTS:.1f}"]
        for part in ("forward", "grad_features", "grad_weight"):
            found = cloud.gflops(statistics.median(times[(percent, order), part]))
            cells.append(f"{found:.1f} ({100 * found / peak:.0f} %)")
        rows.append(cells)
    head = ["cells with a point", "order", "pairs of a point"]
    table = pages.table([*head, "forward", "grad_features", "grad_weight"], rows)
    held = isa.held()
    title = f", {held}" if held else ""
    words = TEXT.format(title, pages.machine(), isa.name(), peak, TURNS)
    page = f"many_points_{held}.md" if held else "many_points.md"
    pages.write(page, words, "\n".join(table))
    return 0


if __name__ == "__main__":
    sys.exit(main())
