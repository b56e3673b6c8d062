# SPDX-License-Identifier: MIT
"""Reads the report of a run of cusim: findings and counts, with lines of the `.cu`
file.

The runtime writes one JSON object a line (`src/findings.cpp`). It knows some positions
only by the address of an instruction. `addr2line` finds their lines here. If findings
differ only in that address, they become one finding.
"""

from __future__ import annotations

import json
import subprocess
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

OPERANDS = ("tensor:", "scratch:")  # memory that a worker of the grader has allocated
Position = tuple[int, int, int]


@dataclass(frozen=True)
class Place:
    """A line, and who was there."""

    what: str  # "written", "read", "waits" ...
    file: str  # "?" if unknown
    line: int  # 0 if unknown
    block: Position | None = None
    thread: Position | None = None

    def __str__(self) -> str:
        who = f" by block {self.block} thread {self.thread}" if self.block else ""
        return f"{self.what} in {Path(self.file).name}:{self.line}{who}"


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong."""

    level: str  # "error", "warning" or "note"
    kind: str  # one word: "race", "out_of_bounds", "deadlock" ...
    sentence: str
    places: tuple[Place, ...]

    @property
    def lines(self) -> tuple[int, ...]:
        """The lines involved, in the order of the places."""
        return tuple(place.line for place in self.places)


@dataclass
class Count:
    """What one line of one kernel moved, summed over all its warps."""

    kernel: str
    file: str
    line: int
    space: str  # "global" or "shared"
    op: str  # "load", "store" or "atomic"
    width: int = 0  # bytes of one lane
    requests: int = 0  # of one warp each
    lanes: int = 0  # that took part, of possible_lanes
    possible_lanes: int = 0
    sectors: int = 0  # 32 bytes each, of global memory
    wavefronts: int = 0  # of shared memory
    bytes: int = 0  # 32 x sectors, before any cache
    memory: str = ""  # "tensor:1", "scratch:0" in an operator's call

    @property
    def sectors_per_request(self) -> float:
        """4 is the best for 4-byte words, 16 for 16-byte ones."""
        return self.sectors / self.requests if self.requests else 0.0

    @property
    def wavefronts_per_request(self) -> float:
        """1 is the best for 4-byte words, 4 for 16-byte ones; more is a conflict."""
        return self.wavefronts / self.requests if self.requests else 0.0

    @property
    def lanes_per_request(self) -> float:
        """Of 32; fewer where a warp diverges or a block ends."""
        return self.lanes / self.requests if self.requests else 0.0


@dataclass
class Report:
    """All of a run."""

    findings: list[Finding] = field(default_factory=list)
    counts: list[Count] = field(default_factory=list)

    @property
    def errors(self) -> list[Finding]:
        """Findings that make a program wrong; warnings and notes do not."""
        return [finding for finding in self.findings if finding.level == "error"]


def read(path: Path) -> Report:
    """The report that a run wrote to a file; an empty one if there is none."""
    text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    return parse(text)


def parse(text: str) -> Report:
    """A report from its JSON lines. A line that cusim cannot have written is left out,
    and so is a last one that was cut short.
    """
    records = [record for line in text.splitlines() if (record := _record(line))]
    lines = _lines_of(records)
    report = Report()
    for record in records:
        if record.get("record") == "count":
            _add_count(report.counts, record, lines)
        elif "kind" in record:
            finding = _finding(record, lines)
            if not any(_same(finding, other) for other in report.findings):
                report.findings.append(finding)
    return report


# ---- from lines to records -----------------------------------------------------------

_TEXTS = ("record", "kind", "level", "sentence", "kernel", "space", "op", "what")
_PLACES = ("file", "module", "memory")
_COUNTED = ("requests", "lanes", "possible_lanes", "sectors", "wavefronts", "bytes")
_TYPES = {
    **dict.fromkeys((*_TEXTS, *_PLACES), str),
    **dict.fromkeys(("line", "offset", "width", *_COUNTED), int),
}
_FINDING = {"kind", "level", "sentence", "places"}  # what a record of it has
_COUNT = {"kernel", "space", "op", "width", *_COUNTED}
_LARGEST = 1 << 63


def _record(line: str) -> dict[str, Any] | None:
    """A record, if the line is one, with all its parts and each of its type."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not _is_typed(record):
        return None
    needed = _COUNT if record.get("record") == "count" else _FINDING
    places = record.get("places", [])
    if not needed <= record.keys() or not isinstance(places, list):
        return None
    fit = all(_is_typed(place) and "what" in place for place in places)
    return dict(record) if fit else None


def _is_typed(record: Any) -> bool:
    if not isinstance(record, dict):
        return False
    values = [(value, _TYPES[key]) for key, value in record.items() if key in _TYPES]
    who = [record[key] for key in ("block", "thread") if record.get(key) is not None]
    return (
        all(type(value) is kind for value, kind in values)
        and all(0 <= value < _LARGEST for value, kind in values if kind is int)
        and record.get("module", "").isprintable()  # it names a file
        and ("file" in record) <= ("line" in record)
        and ("module" in record) <= ("offset" in record)
        and all(isinstance(w, list) and [*map(type, w)] == [int] * 3 for w in who)
    )


# ---- from addresses to lines ---------------------------------------------------------

Lines = dict[tuple[str, int], tuple[str, int]]


def _lines_of(records: list[dict[str, Any]]) -> Lines:
    wanted: dict[str, set[int]] = defaultdict(set)
    for record in records:
        for place in [record, *record.get("places", [])]:
            if "module" in place:
                wanted[place["module"]].add(place["offset"])
    found: Lines = {}
    for module, offsets in wanted.items():
        ordered = sorted(offsets)
        for offset, line in zip(ordered, _addr2line(module, ordered), strict=False):
            found[module, offset] = line
    return found


def _addr2line(module: str, offsets: list[int]) -> list[tuple[str, int]]:
    # a call returns behind the instruction that made it: one byte back is inside
    text = "\n".join(f"{max(offset - 1, 0):#x}" for offset in offsets) + "\n"
    command = ["addr2line", "-a", "-i", "-e", module]
    try:
        done = subprocess.run(
            command, input=text, capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    places: list[list[tuple[str, int]]] = []
    for line in done.stdout.splitlines():
        if line.startswith("0x"):
            places.append([])
        elif places:
            places[-1].append(_file_and_line(line))
    return [_user_line(frames) for frames in places]


def _file_and_line(text: str) -> tuple[str, int]:
    name, _, number = text.partition(" (")[0].rpartition(":")
    return (name, int(number)) if number.isdigit() else ("?", 0)


def _user_line(frames: list[tuple[str, int]]) -> tuple[str, int]:
    """The innermost frame that is not a header of cusim or of the system."""
    for file, line in frames:
        if not _is_ours(file) and not file.startswith("/usr/"):
            return file, line
    return frames[0] if frames else ("?", 0)


def _is_ours(file: str) -> bool:
    return "/cusim/include/" in file or file.endswith("/common/ptx.h")


# ---- from records to findings --------------------------------------------------------


def _place(place: dict[str, Any], lines: Lines) -> Place:
    if "file" in place:
        file, line = str(place["file"]), int(place["line"])
    else:
        key = (place.get("module", ""), place.get("offset", 0))
        file, line = lines.get(key, ("?", 0))
    who = (place.get("block"), place.get("thread"))
    block, thread = (tuple(w) if w else None for w in who)
    return Place(str(place["what"]), file, line, block, thread)


def _finding(record: dict[str, Any], lines: Lines) -> Finding:
    named = [_place(place, lines) for place in record["places"]]
    places = tuple(place for place in named if _tells(place)) or tuple(named)
    return Finding(record["level"], record["kind"], record["sentence"], places)


def _tells(place: Place) -> bool:
    """Of a chain of calls: not a stub between libraries, nor a function of ours."""
    if place.what == "called":
        return place.line > 0 and not _is_ours(place.file)
    return place.line > 0 or place.what != "runs"


def _same(one: Finding, other: Finding) -> bool:
    return one.kind == other.kind and set(one.lines) == set(other.lines)


def _add_count(counts: list[Count], record: dict[str, Any], lines: Lines) -> None:
    key = (record.get("module", ""), record.get("offset", 0))
    file, line = lines.get(key, ("?", 0))
    kernel, space, op = record["kernel"], record["space"], record["op"]
    memory = str(record.get("memory", ""))
    memory = memory if memory.startswith(OPERANDS) else ""
    for count in counts:
        if (count.kernel, count.file, count.line) != (kernel, file, line):
            continue
        access = (count.space, count.op, count.width, count.memory)
        if access == (space, op, record["width"], memory):
            break
    else:
        count = Count(kernel, file, line, space, op, record["width"], memory=memory)
        counts.append(count)
    for name in _COUNTED:
        setattr(count, name, getattr(count, name) + record[name])


# ---- as text -------------------------------------------------------------------------


def render_findings(report: Report) -> str:
    """One paragraph for each finding, errors first."""
    parts = []
    for finding in sorted(report.findings, key=lambda f: f.level):
        parts.append(f"{finding.level}: {finding.kind}: {finding.sentence}")
        parts.extend(f"    {place}" for place in finding.places)
    return "\n".join(parts)


def render_counts(report: Report) -> str:
    """A table: one row for each line of a kernel that touches memory."""
    head = ("kernel", "line", "access", "requests", "lanes", "sectors")
    rows: list[tuple[str, ...]] = [(*head, "wavefronts", "bytes")]
    for count in sorted(report.counts, key=lambda c: (c.kernel, c.file, c.line, c.op)):
        of_global = count.space == "global"
        rows.append(
            (
                count.kernel,
                f"{Path(count.file).name}:{count.line}",
                f"{count.space} {count.op} {count.width}",
                str(count.requests),
                f"{count.lanes_per_request:.3g}",
                f"{count.sectors_per_request:.3g}" if of_global else "-",
                "-" if of_global else f"{count.wavefronts_per_request:.3g}",
                str(count.bytes) if of_global else "-",
            )
        )
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        left = [cell.ljust(width) for cell, width in zip(row[:3], widths, strict=False)]
        right = [c.rjust(w) for c, w in zip(row[3:], widths[3:], strict=True)]
        lines.append("  ".join(left + right).rstrip())
    return "\n".join(lines)
