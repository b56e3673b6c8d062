# SPDX-License-Identifier: MIT
"""What nvcc made of a rung of lab 04, as the HTML report tells it: a row a kernel and
architecture.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Row:
    """One kernel on one architecture."""

    architecture: str
    registers: int  # of a thread
    spills: int  # bytes
    shared: int  # bytes, static
    occupancy: float | None  # per cent of the warps, as far as registers go


@dataclass(frozen=True)
class Compiled:
    """What nvcc said of a rung; without kernels if it was not there."""

    message: str
    warnings: tuple[str, ...]
    kernels: tuple[tuple[str, tuple[Row, ...]], ...]  # by name

    @property
    def summary(self) -> str:
        """The most that any kernel takes, in a line."""
        rows = [row for _, found in self.kernels for row in found]
        if not rows:
            return ""
        count = len(self.kernels)
        spills = max(row.spills for row in rows)
        return (
            f"{count} kernel{'s' if count > 1 else ''}, at most "
            f"{max(row.registers for row in rows)} registers a thread, "
            + (f"{spills} bytes spilled" if spills else "nothing spilled")
        )


def compiled(entry: dict[str, Any] | None) -> Compiled | None:
    """The field `nvcc` of a rung in results.json."""
    if not entry:
        return None
    kernels: dict[str, list[Row]] = {}
    for one in entry["kernels"]:
        share = one.get("occupancy")
        row = Row(
            str(one["architecture"]),
            int(one["registers"]),
            int(one["spills"]),
            int(one["shared"]),
            None if share is None else 100 * float(share),
        )
        kernels.setdefault(str(one["name"]), []).append(row)
    return Compiled(
        str(entry["message"]),
        tuple(str(line) for line in entry["warnings"]),
        tuple((name, tuple(rows)) for name, rows in kernels.items()),
    )
