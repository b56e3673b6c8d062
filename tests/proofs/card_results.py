# SPDX-License-Identifier: MIT
"""What a visit to a card has left, put into the pages and into the speed bands.

    python -m tests.proofs.card_results FOLDER      (docs/guides/on_a_gpu.md)

FOLDER holds copies of what the guide's commands wrote: times.json (card_times.py),
card.json (CHECK=card), bench_04*.json (make bench), results.json (lab 05). The tables
of docs/results/gpu_goals.md between `<!-- NAME -->` and `<!-- end NAME -->` are made
anew; a file that is not there leaves its table as it is. What is pending is printed.

A band: `full` is 0.8 of the ratio of the ladder's fastest right file, because this is
the file that a grading times; `floor` is a tenth of `full`, as in lab 02.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from grader.course.bands import Band
from grader.course.rungs import ROOT
from grader.course.tasks import all_tasks
from tests.proofs.pages import line, table

PAGE = ROOT / "docs" / "results" / "gpu_goals.md"
LAB = ROOT / "labs" / "04_cuda_kernels" / "lab.toml"
SHARE, DOWN = 0.8, 10  # full / measured, full / floor
F32, TF32 = 5, 6  # columns of a row of card_times.py
GOALS = {  # rung: what it is compared with, the cases (a pattern), at least
    "matmul/06_warp_tile": (F32, "4096", 0.90),
    "matmul/10_3xtf32": (F32, "4096", 1.5),
    "matmul/09_tf32": (TF32, "4096", 0.60),
    "conv2d/02_implicit_gemm": (F32, "(?!1x1).*", 0.85),
    "conv2d/05_tf32": (TF32, "(?!1x1).*", 1.0),
}
TIMES = ["rung", "size", "ms", "error", "x PyTorch f32", "x PyTorch TF32"]
BANDS = ["ladder", "direction", "case", "fastest file", "measured", "floor", "full"]
Row = Mapping[str, Any]


def of_name(name: str, text: str, lines: Iterable[str]) -> str:
    """A page with the lines between the marks of `name` made anew."""
    pattern = rf"(<!-- {name} -->\n).*?(<!-- end {name} -->)"
    body = "\n".join(lines)
    new, count = re.subn(pattern, lambda m: f"{m[1]}{body}\n{m[2]}", text, flags=re.S)
    if count != 1:
        raise SystemExit(f"expected one `<!-- {name} -->` in the page, found {count}")
    return new


# ---- times ---------------------------------------------------------------------------


def times(whole: Row) -> list[str]:
    """The table of card_times.py's rows, PyTorch's own left out."""
    rows = [
        [f"`{name}`", case, f"{ms:.3f}", f"{error:.0e}", f"{f32:.2f}", f"{tf32:.2f}"]
        for name, case, ms, _, error, f32, tf32 in whole["rows"]
        if not name.startswith("pytorch")
    ]
    return [f"{whole['card']}.", "", *table(TIMES, rows, words=2)]


def with_goals(text: str, rows: Sequence[Sequence[Any]]) -> str:
    """The page with the results of the goals that `rows` tell of. What a person wrote
    behind a semicolon stays.
    """
    for rung, (column, cases, least) in GOALS.items():
        found = [r[column] for r in rows if r[0] == rung and re.fullmatch(cases, r[1])]
        if found:
            goal = rf"(?m)^(\| at least [^|]*\| `{rung}` \| )[^|;]*?(;[^|]*| )\|"
            text = re.sub(goal, rf"\g<1>{verdict(found, least)}\g<2>|", text)
    return text


def verdict(found: Sequence[float], least: float) -> str:
    """How many reach a goal, in a table's words."""
    good = [ratio for ratio in found if ratio >= least]
    word = "reached" if len(good) == len(found) else "missed" if not good else ""
    if len(found) == 1:
        return f"{word}: {found[0]:.2f}"
    many = word or f"reached in {len(good)} of {len(found)}"
    return f"{many}: {min(found):.2f} to {max(found):.2f}"


# ---- values --------------------------------------------------------------------------


def values(whole: Row) -> Iterator[str]:
    """A line for each ladder: its files, and the checks that did not pass."""
    for task in whole["tasks"]:
        checks = [
            (rung["id"].rsplit("/", 1)[1], check)
            for rung in task["rungs"]
            for check in rung["checks"]
        ]
        bad = [
            f"`{name}` {check['name']}: {check['verdict']}"
            for name, check in checks
            if check["verdict"] != "PASS"
        ]
        said = "; ".join(bad) or "all pass"
        yield line([f"`{task['id']}`", len(task["rungs"]), len(checks), said])


# ---- bands ---------------------------------------------------------------------------


def bands(
    rows: Sequence[Row], toml: str, before: str
) -> tuple[str, list[Sequence[str]]]:
    """lab.toml with the bands that rows of make bench give, and the table of all. What
    they do not tell of stays as the table `before` has it.
    """
    cells = [one.strip("| ").split(" | ") for one in before.splitlines()]
    measured = [row for row in cells if len(row) == len(BANDS) and "pending" not in row]
    lines: list[Sequence[str]] = []
    for task in [t for t in all_tasks() if t.language == "cuda" and t.speed]:
        assert task.speed
        ladder = task.id.partition("/")[2]
        for direction, band in task.speed.bands.items():
            head = [f"`{ladder}`", direction, band.case]
            if best := fastest(rows, task.id, direction, band):
                full = float(f"{SHARE * best['ratio']:.2g}")
                floor = float(f"{full / DOWN:.2g}")
                toml = with_band(toml, (ladder, direction), floor, full)
                name = f"`{best['rung'].rsplit('/', 1)[1]}`"
                rest = [name, f"{best['ratio']:.2f}", f"{floor:g}", f"{full:g}"]
                lines.append([*head, *rest])
            elif of_case := [row for row in measured if row[:3] == head]:
                lines.append(of_case[0])
            else:
                rest = ["pending", "-", f"{band.floor:g}", f"{band.full:g}"]
                lines.append([*head, *rest])
    return toml, lines


def fastest(rows: Iterable[Row], task: str, direction: str, band: Band) -> Row | None:
    """The row that a grading would have timed: of the right files the fastest."""
    mine = (task, direction, band.case, "PASS")
    words = ("task", "part", "case", "verdict")
    right = [row for row in rows if tuple(row[w] for w in words) == mine]
    return min(right, key=lambda row: float(row["ms"]), default=None)


def with_band(toml: str, of: tuple[str, str], floor: float, full: float) -> str:
    """lab.toml with another band of a ladder's direction; all else stays."""
    ladder, direction = of
    pattern = (
        rf"(\[ladder\.{ladder}\]\n(?:(?!\[).*\n)*?speed\.{direction} = "
        r"\{ case = \"\w+\"), floor = [^,]+, full = [^ ]+ \}"
    )
    new, count = re.subn(pattern, rf"\1, floor = {floor:g}, full = {full:g} }}", toml)
    if count != 1:
        sys.exit(f"{LAB}: expected one line like {pattern}, found {count}")
    return new


# ---- the folder ----------------------------------------------------------------------


def read(folder: Path, pattern: str) -> list[Row]:
    """The files of a name that a visit left; says which were expected."""
    found = [json.loads(file.read_text()) for file in sorted(folder.glob(pattern))]
    if not found:
        print(f"pending: there is no {pattern} in {folder}")
    return found


def main(arguments: Sequence[str]) -> int:
    """Rewrite the page and lab.toml; print what is pending."""
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        print("usage: python -m tests.proofs.card_results FOLDER", file=sys.stderr)
        return 2
    folder = Path(arguments[0])
    text, toml = PAGE.read_text(), LAB.read_text()
    for whole in read(folder, "times.json"):
        text = with_goals(of_name("times", text, times(whole)), whole["rows"])
    for whole in read(folder, "card.json"):
        head = table(["ladder", "files", "checks", "result"], [])
        text = of_name("values", text, [*head, *values(whole)])
    benched = [row for whole in read(folder, "bench_04*.json") for row in whole["rows"]]
    if benched:
        toml, lines = bands(benched, toml, text)
        text = of_name("bands", text, table(BANDS, lines, words=4))
        waiting = [" ".join(words[:3]) for words in lines if words[3] == "pending"]
        for words in waiting:
            print(f"pending: the band of {words}")
    for whole in read(folder, "results.json"):
        print(*values(whole), sep="\n")
    PAGE.write_text(text)
    LAB.write_text(toml)
    print(f"written: {PAGE}, {LAB}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
