# SPDX-License-Identifier: MIT
"""Tables of docs/results in the READMEs of labs and their pages, between markers.

    <!-- bench conv2d.json ratios forward+backward -->
    ...what stands here is made anew by the verb `tables`
    <!-- end bench -->

    <!-- bench counts_04.json counts matmul -->
    ...the same of what is counted without a GPU, for the ladder of an operator
    <!-- end bench -->

`ratios PART` has a line for each case and a column for each rung: how many times as
fast as PyTorch. `ladder PART` is the same with rungs down and cases across. `rung NN
PART,PART` has all that was measured of one rung. Below each stand the machine and the
command that made the numbers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from grader.course.rungs import ROOT
from grader.errors import GraderError

RESULTS = ROOT / "docs" / "results"
_REGION = re.compile(
    r"^(<!-- bench (\S+\.json) (\w+) (\S+)(?: (\S+))? -->\n)(.*?)"
    r"(^<!-- end bench -->\n)",
    re.M | re.S,
)
Result = dict[str, Any]
COUNTED = (
    "rung",
    "direction",
    "case",
    "bytes",
    "x least",
    "sectors a request",
    "wavefronts a request",
    "registers",
    "spills",
    "occupancy",
)  # of a kernel, without a card


def filled(text: str, folder: Path = RESULTS) -> str:
    """A page with every table between markers made anew.

    Raises GraderError for a marker that names no file or no kind of table.
    """

    def table(match: re.Match[str]) -> str:
        file, kind, first, second = match[2], match[3], match[4], match[5]
        if kind not in KINDS:
            raise GraderError(
                f"a table of kind {kind!r} is not known, expected one of "
                f"{', '.join(KINDS)}"
            )
        try:
            name = file if file.startswith("counts_") else f"bench_{file}"
            result = json.loads((folder / name).read_text())
        except OSError as error:
            raise GraderError(
                f"there is no docs/results/bench_{file} for this table: run make bench"
            ) from error
        lines = KINDS[kind](result, first, second or "")
        body = "\n".join([*lines, "", note(result)])
        return f"{match[1]}{body}\n{match[7]}"

    return _REGION.sub(table, text)


def pages() -> list[Path]:
    """Every README of a lab, and its page of measurements, that shows a table."""
    files = sorted((ROOT / "labs").glob("*/README.md"))
    files += sorted(RESULTS.glob("[0-9][0-9]_*.md"))
    return [file for file in files if _REGION.search(file.read_text())]


def write() -> list[Path]:
    """Bring all pages up to date. Returns those that changed."""
    changed = []
    for page in pages():
        before = page.read_text()
        after = filled(before)
        if after != before:
            page.write_text(after)
            changed.append(page)
    return changed


def ratios(result: Result, part: str, _: str) -> list[str]:
    """Cases down, rungs across; the fastest of a line is bold, — is left to others."""
    rows = [r for r in result["rows"] if r["part"] == part and "ratio" in r]
    rungs = list(dict.fromkeys(r["rung"] for r in rows))
    cases = list(dict.fromkeys(r["case"] for r in rows))
    found = {(r["rung"], r["case"]): r["ratio"] for r in rows}
    head = ["case", *(rung.rsplit("/", 1)[1] for rung in rungs)]
    lines = []
    for case in cases:
        best = max(found.get((rung, case), 0) for rung in rungs)
        cells = [_ratio(found.get((rung, case)), best) for rung in rungs]
        lines.append([f"`{case}`", *cells])
    return markdown(head, lines)


def ladder(result: Result, part: str, _: str) -> list[str]:
    """Rungs down, cases across: `ratios` turned, for a ladder of many rungs."""
    lines = ratios(result, part, "")
    cells = [line.strip("| ").split(" | ") for line in lines]
    del cells[1]  # the rule below the head
    (_, *cases), *others = zip(*cells, strict=True)
    return markdown(["rung", *cases], [[f"`{name}`", *row] for name, *row in others])


def rung(result: Result, number: str, parts: str) -> list[str]:
    """All that was measured of one rung, who computed it, and the errors."""
    chosen = parts.split(",")
    rows = [
        r
        for r in result["rows"]
        if r["rung"].rsplit("/", 1)[1].startswith(number)
        and r["part"] in chosen
        and "ratio" in r
    ]
    others = list(dict.fromkeys(name for r in rows for name in r.get("others", {})))
    counted = all("gflops" in r for r in rows)  # else it moves numbers, no more
    speed = ["GFLOP/s", "% of peak"] if counted else ["GB/s"]
    head = ["case", "part", "computed by", "ms", *speed, "x PyTorch"]
    head += [f"x {name}" for name in others]
    head += ["error", "PyTorch's"]
    lines = []
    for r in rows:
        by = ", ".join(name.rsplit("/", 1)[1] for name in r["by"])
        line = [f"`{r['case']}`", r["part"], by, f"{r['ms']:.3g}"]
        keys = ("gflops", "percent_of_peak") if counted else ("gbs",)
        line += [f"{r[key]:.0f}" for key in keys]
        line += [f"{r['ratio']:.2f}"]
        line += [f"{r['others'][name]:.2f}" for name in others]
        line += [f"{r['error']:.0e}", f"{r['pytorch_error']:.0e}"]
        lines.append(line)
    return markdown(head, lines)


def counts(result: Result, operator: str, _: str) -> list[str]:
    """What can be known of the rungs of a ladder without a card."""
    rows = [row for row in result["rows"] if row["task"].endswith(f"/{operator}")]
    lines = [counted(row) for row in rows]
    return markdown(COUNTED, lines)


def counted(row: dict[str, Any]) -> list[str]:
    """What was counted of a rung, as one line of the table."""
    has_card = bool(row["architecture"])
    return [
        f"`{row['rung'].rsplit('/', 1)[1]}`",
        row["direction"],
        f"`{row['case']}`",
        f"{row['bytes']:,}",
        f"{row['bytes'] / row['least']:.3g}",
        f"{row['sectors']:.2f}",
        f"{row['wavefronts']:.2f}" if row["wavefronts"] else "-",
        str(row["registers"]) if has_card else "-",
        str(row["spills"]) if has_card else "-",
        f"{100 * row['occupancy']:.0f} %" if has_card else "-",
    ]


def note(result: Result) -> str:
    """The machine and the command, in small words."""
    environment = result["environment"]
    if "gpu" in environment:
        card = environment["gpu"]
        return (
            f"{card['name']}, {environment['nvcc']}, torch {environment['torch']}, "
            f"measured: FMA {2e-12 * card['fma']:.1f} TFLOP/s, copy "
            f"{1e-9 * card['bandwidth']:.0f} GB/s. Made by `{result['command']}`."
        )
    if "machine" not in environment:
        kinds = {row["architecture"] for row in result["rows"]} - {""}
        compiled = f"; registers, spills (bytes) and occupancy by nvcc for {min(kinds)}"
        return (
            "Counted by cusim in float32, before any cache"
            f"{compiled if kinds else ''}. Made by `{result['command']}`."
        )
    machine = environment["machine"]
    threads = {row["threads"] for row in result["rows"]}
    many = " and ".join(f"{t} thread{'s' * (t > 1)}" for t in sorted(threads))
    return (
        f"{environment['cpu']}, {environment['compiler']}, torch "
        f"{environment['torch']}, {many}, one core's measured peak "
        f"{machine['fma_gflops']:.0f} GFLOP/s. Made by `{result['command']}`."
    )


def _ratio(value: float | None, best: float) -> str:
    if value is None:
        return "—"
    text = f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"
    return f"**{text}**" if value == best else text


def markdown(head: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    """A table: the first column to the left, the others to the right."""
    rule = ["---", *["--:"] * (len(head) - 1)]
    return [f"| {' | '.join(cells)} |" for cells in (head, rule, *lines)]


KINDS: dict[str, Callable[[Result, str, str], list[str]]] = {
    "counts": counts,
    "ladder": ladder,
    "ratios": ratios,
    "rung": rung,
}
