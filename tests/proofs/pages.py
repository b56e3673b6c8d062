# SPDX-License-Identifier: MIT
"""What the pages of docs/results are made of: tables, and words for the machine."""

from __future__ import annotations

from collections.abc import Sequence

from grader.course.rungs import ROOT
from grader.engine.results import environment

RESULTS = ROOT / "docs" / "results"


def machine() -> str:
    """What the numbers were measured on."""
    where = environment()
    return "{cpu}, {compiler}, torch {torch}, sandbox {sandbox}".format(**where)


def table(
    head: Sequence[str], rows: Sequence[Sequence[object]], *, words: int = 1
) -> list[str]:
    """Markdown; the first columns hold words, the others numbers."""
    rule = ["---"] * words + ["--:"] * (len(head) - words)
    return [line(cells) for cells in (head, rule, *rows)]


def line(cells: Sequence[object]) -> str:
    """A row."""
    return f"| {' | '.join(map(str, cells))} |"


def cell(text: str, most: int = 1000) -> str:
    """Text that a cell can hold, so many characters of it."""
    short = text if len(text) <= most else f"{text[: most - 3]}..."
    return short.replace("|", "\\|").replace("\n", " ")


def known_rows(name: str) -> dict[str, str]:
    """Rows of a page as it is, by their first word, that of a lab's file: a run of some
    files replaces only those.
    """
    file = RESULTS / name
    lines = file.read_text().splitlines() if file.exists() else []
    return {line.split()[1]: line for line in lines if line.startswith("| 0")}


def write(name: str, *parts: str) -> None:
    """A page, its parts a blank line apart, empty ones left out."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / name).write_text("\n\n".join(filter(None, parts)) + "\n")
