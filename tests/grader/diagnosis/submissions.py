# SPDX-License-Identifier: MIT
"""Does every listed mistake get its name, and no other one any?

    python -m tests.grader.diagnosis.submissions [--only gelu] [--write LABEL]

Wrong submissions in C and Python: those of listed.toml are instances of known mistakes,
those of unlisted.toml of none. Each is made of right parts (right/OPERATOR/PART) by
edits. They were written from operators.h alone and kept before any detector had seen
them. With --write the counts join docs/results/mistakes.md under LABEL.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import tomllib
from collections import Counter
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

import torch

from grader import operators
from grader.checks.check_result import CheckResult
from grader.checks.subject import Subject
from grader.checks.values import forward, gradient
from grader.diagnosis import explanation, search
from grader.runner.supervisor.cores import pin
from grader.toolchain.make import build_tools
from grader.verdicts import Verdict
from tests import PROGRAMS, put
from tests.conftest import libraries_of
from tests.proofs import pages

FOLDER = PROGRAMS / "submissions"
RIGHT = FOLDER / "right"
TABLE = pages.RESULTS / "mistakes.md"
SEED = 7
HEADS = {  # of a file that says {}, and what stands right above its code
    ".c": ("// SPDX-License-Identifier: MIT\n/* {} */\n", '#include "operators.h"\n\n'),
    ".py": ('# SPDX-License-Identifier: MIT\n"""{}', '"""\n\n'),
}


@dataclass(frozen=True)
class Submission:
    """One wrong file, and what is expected of the detector."""

    name: str  # list/operator/file
    direction: str  # in which it is wrong first
    says: str  # what is wrong with it
    parts: tuple[str, ...]  # of right/OPERATOR, one below the other
    edits: tuple[tuple[str, str], ...]  # old text, which has one place, and new
    mistake: str | None = None  # None: it must get no name
    also: tuple[str, ...] = ()  # names that are as fair

    @property
    def operator(self) -> str:
        """The operator it is to compute."""
        return self.name.split("/")[1]

    @property
    def suffix(self) -> str:
        """.c or .py"""
        return Path(self.name).suffix

    def text(self) -> str:
        """The file as a student would have written it."""
        head, border = HEADS[self.suffix]
        parts = [
            (RIGHT / self.operator / (part + self.suffix)).read_text()
            for part in self.parts
        ]
        body = "\n".join(part.split(border, 1)[1] for part in parts)
        for old, new in self.edits:
            if body.count(old) != 1:
                raise ValueError(f"{self.name}: {body.count(old)} places for {old!r}")
            body = body.replace(old, new)
        return head.format(self.says) + border + body

    def written(self, folder: Path) -> Path:
        """The file, below `folder`."""
        return put(folder / self.name, self.text())

    def outcome(self, named: str | None) -> str:
        """right, wrong name, no name; for unlisted ones right or accused.

        A name of the search is right for an unlisted one: its sentence shows code that
        makes the same numbers, and accuses of nothing else.
        """
        if self.mistake is None:
            return "right" if named in (None, *search.NAMES) else "accused"
        if named is None:
            return "no name"
        return "right" if named in (self.mistake, *self.also) else "wrong name"


def submissions() -> list[Submission]:
    """All of them, by name."""
    return [
        Submission(
            f"{kind}/{name}",
            entry["direction"],
            entry["says"],
            tuple(entry["parts"]),
            tuple((old, new) for old, new in entry["edits"]),
            entry.get("mistake"),
            tuple(entry.get("also", ())),
        )
        for kind in ("listed", "unlisted")
        for name, entry in sorted(
            tomllib.loads((FOLDER / f"{kind}.toml").read_text()).items()
        )
    ]


def right_ones() -> list[Submission]:
    """What the parts make without any edit, each part at least once."""
    made = []
    for operator in sorted(folder.name for folder in RIGHT.iterdir()):
        parts = {f.name for f in (RIGHT / operator).iterdir()}
        forward = sorted(p for p in parts if p.startswith("forward_"))
        backward = sorted(p for p in parts if p.startswith("backward_"))
        whole = sorted(parts - {*forward, *backward})
        if operator == "add":  # these backward parts use what is above them
            pairs = list(zip(forward, backward, strict=True))
        else:
            length = max(len(forward), len(backward))
            pairs = list(islice(zip(cycle(forward), cycle(backward)), length))
        for chosen in [*pairs, *((part,) for part in whole)]:
            suffix = Path(chosen[0]).suffix
            stems = tuple(Path(part).stem for part in chosen)
            name = f"right/{operator}/{'+'.join(stems)}{suffix}"
            made.append(Submission(name, "", "right", stems, ()))
    return made


def subject_of(submission: Submission, folder: Path) -> Subject:
    """The submission as the checks see it; written and built below `folder`."""
    operator = operators.get(submission.operator)
    file = submission.written(folder)
    if submission.suffix == ".py":
        return Subject(operator, source=file, shown=submission.name)
    libraries = libraries_of(file, folder)
    return Subject(operator, libraries={d: (p, p) for d, p in libraries.items()})


def judged(submission: Submission, folder: Path) -> CheckResult:
    """The check of the direction in which it is wrong, with its diagnosis."""
    (found,) = checked(submission, folder, submission.direction)
    return found


def checked(
    submission: Submission, folder: Path, *directions: str
) -> list[CheckResult]:
    """One result for each direction: of the first dtype that fails, explained."""
    subject = subject_of(submission, folder)
    try:
        cases = subject.operator.cases(SEED)
        results = []
        for direction in directions:
            check = forward.check if direction == "forward" else gradient.check
            for dtype in subject.dtypes:
                found = check(subject, cases, dtype, SEED)
                if found.verdict is not Verdict.PASS:
                    break
            results.append(explanation.explain(subject, found, cases, SEED))
        return results
    finally:
        subject.close()


def count(found: dict[Submission, str]) -> list[str]:
    """The table's numbers: listed by operator, then unlisted."""
    names = sorted({s.operator for s in found})
    rows = [[name, *numbers(found, name)] for name in names]
    sums = [f"**{number}**" for number in numbers(found, *names)]
    return pages.table(COLUMNS, [*rows, ["**sum**", *sums]])


def numbers(found: dict[Submission, str], *names: str) -> list[int]:
    """Those of some operators, in the order of COLUMNS."""
    mine = {s: o for s, o in found.items() if s.operator in names}
    listed = Counter(o for s, o in mine.items() if s.mistake)
    free = Counter(o for s, o in mine.items() if not s.mistake)
    counts = [listed[outcome] for outcome in ("right", "wrong name", "no name")]
    return [listed.total(), *counts, free.total(), free["accused"]]


COLUMNS = (
    "operator",
    "listed",
    "named right",
    "named wrong",
    "no name",
    "unlisted",
    "accused",
)
HEAD = """# Named mistakes

Wrong submissions in C and Python (`tests/programs/submissions`), and what the
detector calls them.
They were written from `operators.h` and a list of mistakes alone, and committed before
the detector first ran on them, as 211 files (commit 97ad7af); since then each is kept
as its differences from right parts, which make the same text.
`python -m tests.grader.diagnosis.submissions --write LABEL` adds a run.
"""


def write(label: str, lines: list[str], failures: list[str]) -> None:
    """Add a run to the page."""
    text = TABLE.read_text() if TABLE.exists() else HEAD
    failed = [f"- {line}" for line in failures]
    parts = [text.rstrip(), f"## {label}", "\n".join(lines), "\n".join(failed)]
    pages.write("mistakes.md", *parts)


def main(arguments: list[str]) -> int:
    """Run the detector on all; 0 if every name is right."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.grader.diagnosis.submissions"
    )
    parser.add_argument("--only", default="", help="a name's beginning, or an operator")
    parser.add_argument("--write", metavar="LABEL", help="add to docs/results")
    args = parser.parse_args(arguments)
    only = args.only
    chosen = [s for s in submissions() if s.name.startswith(only) or s.operator == only]
    if not chosen:
        parser.error(f"no submission's name begins with {args.only!r}")
    build_tools()
    torch.set_num_threads(1)
    pin()
    found: dict[Submission, str] = {}
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        for submission in chosen:
            result = judged(submission, Path(folder))
            found[submission] = submission.outcome(result.mistake)
            print(
                f"{found[submission]:10} {submission.name} {result.mistake}", flush=True
            )
            if found[submission] != "right":
                failures.append(
                    f"{submission.name}: {found[submission]}, expected "
                    f"{submission.mistake}, got {result.mistake} ({result.verdict})"
                )
                print(f"    {result.message}\n    {result.diagnosis}", flush=True)
    lines = count(found)
    print("\n".join(lines))
    if args.write:
        write(args.write, lines, failures)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
