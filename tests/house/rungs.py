# SPDX-License-Identifier: MIT
"""How much a rung asks for: its lines, what a student writes of them, what is new.

    python -m tests.house.rungs        writes docs/results/rungs.md

Lines are counted without blanks and comments. A *gap* is one region of a solution; a
student writes all gaps of a rung. *New* are the lines that no nearest lower rung with
one of its directions has; a line that only moved is not new.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from ladders.linked_parts import LOWER

from grader.course.tasks import all_tasks
from grader.solution_marks import solved
from tests.house.test_style import REGION, count_to_write, text, written
from tests.proofs import pages

PAGE = """# How much each rung asks for

Written by `python -m tests.house.rungs`. Lines without blanks and comments; `in all`
is the whole file without marks. A student *writes* the solutions; each is one *gap*.
*New* are the lines that the nearest lower rung of the same direction does not have.

{summary}"""
PARTS = """## Calls of rungs that cover some cases

What such a rung leaves, the next lower right rung of its ladder computes. A call is no
mistake; but whoever reads the caller has to know that other rungs may answer."""
FILE = pages.RESULTS / "rungs.md"
COMMENT = re.compile(r'/\*.*?\*/|"""(?:[^\\]|\\.)*?"""|//[^\n]*', re.S)


@dataclass(frozen=True)
class Rung:
    """What is counted of one file."""

    name: str  # 02_naive_c/conv2d/00_definition
    long: int  # lines of the file, without marks
    gaps: tuple[int, ...]  # lines of each solution
    new: int | None  # lines that lower rungs do not have; None without a lower rung

    @property
    def written(self) -> int:
        """The lines of all solutions."""
        return sum(self.gaps)

    @property
    def widest(self) -> int:
        """The lines of the longest solution."""
        return max(self.gaps)


def code_lines(source: str) -> list[str]:
    """The lines of a text that are neither blank nor comments, without indentation."""
    bare = (line.strip() for line in COMMENT.sub("", source).splitlines())
    return [line for line in bare if line and not line.startswith("# ")]


def directions(name: str) -> set[str]:
    """Which of forward and backward a rung defines."""
    operator = Path(name).parent.name
    if name.endswith(".py"):
        return {"forward", "backward"}
    defined = rf"(?m)^(?:extern \"C\" )?status_t {operator}_(forward|backward)\("
    return set(re.findall(defined, text(name)))


def counted() -> list[Rung]:
    """Every rung of labs 01 to 04 that a student writes, in the order of the course."""
    below: dict[tuple[str, str], str] = {}  # the nearest lower rung of a direction
    found = []
    for name in sorted(written()):
        mine = sorted((str(Path(name).parent), d) for d in directions(name))
        lower = {below[place] for place in mine if place in below}
        gaps = tuple(
            count_to_write(solution) for solution, _ in REGION.findall(text(name))
        )
        new = len(fresh(name, lower)) if lower else None
        short = name.removeprefix("labs/").rsplit(".", 1)[0]
        found.append(Rung(short, len(solved(text(name)).splitlines()), gaps, new))
        below |= dict.fromkeys(mine, name)
    return found


def fresh(name: str, lower: Iterable[str]) -> list[str]:
    """The lines of a rung that none of these has, as often as it has more of them."""
    earlier: Counter[str] = Counter()
    for other in lower:
        earlier |= Counter(code_lines(text(other)))
    return list((Counter(code_lines(text(name))) - earlier).elements())


def summary(every: Iterable[Rung]) -> list[str]:
    """A row for each lab."""
    labs = defaultdict(list)
    for rung in every:
        labs[rung.name.split("/")[0]].append(rung)
    head = ["lab", "rungs", "to write, median", "most", "widest gap", "new, median"]
    rows = []
    for lab, mine in labs.items():
        new = [rung.new for rung in mine if rung.new is not None]
        written = [rung.written for rung in mine]
        widest = max(rung.widest for rung in mine)
        middle = [
            f"{median(counts):.0f}" if counts else "" for counts in (written, new)
        ]
        rows.append([lab, len(mine), middle[0], max(written), widest, middle[1]])
    return pages.table(head, rows)


def page() -> str:
    """What docs/results/rungs.md holds."""
    every = counted()
    head = ["rung", "in all", "to write", "gaps", "widest gap", "new"]
    rows = [
        [
            r.name,
            r.long,
            r.written,
            len(r.gaps),
            r.widest,
            "" if r.new is None else r.new,
        ]
        for r in every
    ]
    short = PAGE.format(summary="\n".join(summary(every)))
    used = pages.table(["rung", "calls", "which covers"], uses_of_parts())
    whole = [short, "\n".join(pages.table(head, rows)), PARTS, "\n".join(used)]
    return "\n\n".join(whole) + "\n"


def uses_of_parts() -> list[list[str]]:
    """Each use of a rung that leaves some cases to lower ones."""
    rungs = {rung.id: rung for task in all_tasks() for rung in task.rungs}
    found = []
    for rung in rungs.values():
        for use in [use for use in rung.uses if use.alias != LOWER]:
            covers = rungs[use.target].covers if use.target in rungs else {}
            tags = [
                f"{result}: {', '.join(words)}".removeprefix(": ")
                for result, words in covers.items()
            ]
            if tags:
                found.append([rung.id, use.target, "; ".join(tags)])
    return found


if __name__ == "__main__":
    FILE.write_text(page())
