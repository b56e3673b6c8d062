# SPDX-License-Identifier: MIT
"""Makes the table of `make bench NET=`: its rows, its file and its page.

It has three parts. The first shows how many times as fast as PyTorch each row is. The
second shows the time of a call by kind of layer. The third shows it by size of layer,
for the rows with a step of training.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from grader.checks.speed.estimate import Estimate
from grader.report import tables
from grader.toolchain import isa

PARTS = ("forward", "step")
MAKES = ("pytorch", "lab05")
WRONG = 1e-3  # of the largest output
WRONG_GRADIENT = 0.1  # of all gradients: one ReLU that turns at a last bit moves many
REST = "between the layers"
HEAD = (
    "images",
    "part",
    "threads",
    "ISA",
    "PyTorch ms",
    "ours ms",
    "x PyTorch",
    "95 % interval",
    "outputs differ",
    "gradients differ",
)
SPENT = ("kind", "PyTorch ms", "its share", "ours ms", "our share", "x PyTorch")
SAME = ("cpu", "isa", "compiler", "torch")  # of the environment, in one table
Seconds = dict[Any, dict[str, float]]  # of a kind, or a kind and its sizes; by make


@dataclass(frozen=True)
class Row:
    """One line of a table."""

    images: int
    part: str
    threads: int
    isa: str
    seconds: Mapping[str, float]  # by make, medians
    ratio: Estimate
    noisy: bool
    rounds: int
    error: float  # largest difference of an output, as a share of the largest output
    gradient_error: float | None  # of all gradients as one vector: norms
    layers: Mapping[str, Sequence[tuple[str, str, float]]]  # by make: kind, sizes, s
    watched: Mapping[str, float]  # by make: seconds of a whole call with the hooks
    command: str

    @property
    def key(self) -> tuple[int, str, int]:
        """What a row is about."""
        return self.images, self.part, self.threads

    @property
    def title(self) -> str:
        """The same in words."""
        return (
            f"{self.images} image{'s' * (self.images > 1)}, {self.part}, "
            f"{self.threads} thread{'s' * (self.threads > 1)}, {self.isa}"
        )

    @property
    def wrong(self) -> bool:
        """Whether the results differ so much that no time is told."""
        gradients = self.gradient_error or 0.0
        return not (self.error <= WRONG and gradients <= WRONG_GRADIENT)


def key_order(key: tuple[int, str, int]) -> tuple[int, int, int]:
    """Where a row with this key stands in the table."""
    images, part, threads = key
    return threads, images, PARTS.index(part)


def read(file: Path, environment: Mapping[str, Any]) -> list[Row]:
    """The rows that were kept, if this machine, compiler and PyTorch made them."""
    if not file.exists():
        return []
    kept = json.loads(file.read_text())
    if any(kept["environment"][word] != environment[word] for word in SAME):
        return []
    return [Row(**{**row, "ratio": Estimate(**row["ratio"])}) for row in kept["rows"]]


def whole(
    net: str, rows: Sequence[Row], environment: Mapping[str, Any]
) -> dict[str, Any]:
    """What is kept as JSON."""
    return {"net": net, "environment": environment, "rows": [asdict(r) for r in rows]}


# ---- the page ------------------------------------------------------------------------


def page(net: str, size: int, rows: Sequence[Row], machine: str) -> str:
    """Markdown."""
    made = "; ".join(f"`{text}`" for text in dict.fromkeys(row.command for row in rows))
    held = f", {isa.held()}" if isa.held() else ""
    lines = [
        f"# {net}: a whole network with our layers{held}",
        "",
        f"Images of {size} x {size}, random weights, the same for both sides, which "
        "take turns. `forward` is eval() without a graph; `step` is a step of "
        "training: forward, loss, backward, optimizer. Outputs: the largest difference "
        "between PyTorch's side and ours, as a share of the largest output. Gradients: "
        "all weights' gradients as one vector, the difference's norm as a share of the "
        "norm. One ReLU that turns at a last bit changes many of them.",
        "",
        *tables.markdown(HEAD, [_cells(row) for row in rows]),
        "",
        f"{machine} Made by {made}.",
        "",
        "## Where the time goes",
        "",
        "Of one call with a hook around each layer, in each direction. `"
        f"{REST}` is the rest: sums and joins of maps, the loss, the optimizer.",
    ]
    for row in rows:
        lines += ["", f"### {row.title}", "", *_spent(by_kind(row))]
    lines += ["", "## Layer by layer"]
    for row in rows:
        if row.part == "step":
            lines += ["", f"### Each layer: {row.title}", "", *_spent(by_layer(row))]
    return "\n".join([*lines, ""])


def _cells(row: Row) -> list[str]:
    first = [str(row.images), row.part, str(row.threads), row.isa]
    differ = [f"{row.error:.0e}", ""]
    if row.gradient_error is not None:
        differ[1] = f"{row.gradient_error:.0e}"
    if row.wrong:
        return [*first, "WRONG_VALUE", *[""] * 3, *differ]
    ratio = row.ratio
    return [
        *first,
        *(f"{1e3 * row.seconds[make]:.1f}" for make in MAKES),
        f"{ratio.value:.2f}",
        f"{ratio.low:.2f} .. {ratio.high:.2f}{' NOISY' * row.noisy}",
        *differ,
    ]


def by_kind(row: Row) -> Seconds:
    """Seconds of each kind of layer, and of what lies between; by make."""
    found: Seconds = defaultdict(lambda: dict.fromkeys(MAKES, 0.0))
    for make in MAKES:
        for kind, _, seconds in row.layers[make]:
            found[kind][make] += seconds
        found[REST][make] = row.watched[make] - sum(s for *_, s in row.layers[make])
    return found


def by_layer(row: Row) -> Seconds:
    """Seconds of each kind and size of layer; by make."""
    found: Seconds = defaultdict(lambda: dict.fromkeys(MAKES, 0.0))
    for make in MAKES:
        for kind, sizes, seconds in row.layers[make]:
            found[f"{kind}, {sizes}"][make] += seconds
    return found


def _spent(found: Seconds) -> list[str]:
    """A table of it, what takes PyTorch longest first."""
    sums = {make: sum(times[make] for times in found.values()) for make in MAKES}
    lines = []
    for name in sorted(found, key=lambda name: -found[name][MAKES[0]]):
        line = [name]
        for make in MAKES:
            seconds = found[name][make]
            line += [f"{1e3 * seconds:.2f}", f"{100 * seconds / sums[make]:.0f} %"]
        theirs, ours = (found[name][make] for make in MAKES)
        line.append(f"{theirs / ours:.2f}" if ours > 0 else "-")
        lines.append(line)
    return tables.markdown(SPENT, lines)
