# SPDX-License-Identifier: MIT
"""Does every listed mistake get its name, and no other one any?

    python -m tests.mistakes.run [--only PREFIX] [--write LABEL]

The files beside this one are wrong submissions: `listed` ones are instances of known
mistakes, `unlisted` ones of none. They were written from operators.h alone and kept
before any detector had seen them. With --write the counts join docs/results/mistakes.md
under LABEL.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import torch

from grader import diagnose, operators
from grader.build import build_tools
from grader.checks import forward, gradient
from grader.checks.result import CheckResult
from grader.checks.subject import Subject
from grader.supervisor.session import pin
from grader.tasks import ROOT
from grader.verdicts import Verdict

FOLDER = Path(__file__).parent
TABLE = ROOT / "docs" / "results" / "mistakes.md"
SEED = 7


@dataclass(frozen=True)
class Submission:
    """One wrong file, and what is expected of the detector."""

    name: str  # listed/conv2d/flip.c
    operator: str
    direction: str
    mistake: str | None = None  # None: it must get no name
    also: tuple[str, ...] = ()  # names that are as fair

    @property
    def file(self) -> Path:
        """Where it lies."""
        return FOLDER / self.name

    def outcome(self, named: str | None) -> str:
        """right, wrong name, no name; for unlisted ones right or accused."""
        if self.mistake is None:
            return "right" if named is None else "accused"
        if named is None:
            return "no name"
        return "right" if named in (self.mistake, *self.also) else "wrong name"


def submissions() -> list[Submission]:
    """All of them, as expected.toml lists them."""
    entries = tomllib.loads((FOLDER / "expected.toml").read_text())
    return [
        Submission(
            name,
            entry["operator"],
            entry["direction"],
            entry.get("mistake"),
            tuple(entry.get("also", ())),
        )
        for name, entry in sorted(entries.items())
    ]


def subject_of(submission: Submission, folder: Path) -> Subject:
    """The submission as the checks see it; C is built below `folder`."""
    operator = operators.get(submission.operator)
    if submission.file.suffix == ".py":
        return Subject(operator, source=submission.file, shown=submission.name)
    rung = submission.file.relative_to(ROOT)
    command = ["make", "-s", "-f", "common/rung.mk", f"RUNG={rung}", f"BUILD={folder}"]
    subprocess.run(command, cwd=ROOT, check=True, timeout=60)
    stem = folder / "rungs" / "release" / rung.with_suffix("")
    libraries = {d: Path(f"{stem}.{d}.so") for d in ("f32", "f64")}
    return Subject(operator, libraries={d: (p, p) for d, p in libraries.items()})


def judged(submission: Submission, folder: Path) -> CheckResult:
    """The check of the direction in which it is wrong, with its diagnosis."""
    check = forward.check if submission.direction == "forward" else gradient.check
    subject = subject_of(submission, folder)
    try:
        cases = subject.operator.cases(SEED)
        for dtype in subject.dtypes:
            found = check(subject, cases, dtype, SEED)
            if found.verdict is not Verdict.PASS:
                break
        return diagnose.explain(subject, found, cases, SEED)
    finally:
        subject.close()


def count(found: dict[Submission, str]) -> list[str]:
    """The table's numbers: listed by operator, then unlisted."""
    lines = []
    for operator in sorted({s.operator for s in found}):
        mine = {s: o for s, o in found.items() if s.operator == operator}
        listed = Counter(o for s, o in mine.items() if s.mistake)
        free = Counter(o for s, o in mine.items() if not s.mistake)
        lines.append(
            f"| {operator} | {listed.total()} | {listed['right']} | "
            f"{listed['wrong name']} | {listed['no name']} | {free.total()} | "
            f"{free['accused']} |"
        )
    listed = Counter(o for s, o in found.items() if s.mistake)
    free = Counter(o for s, o in found.items() if not s.mistake)
    lines.append(
        f"| **sum** | **{listed.total()}** | **{listed['right']}** | "
        f"**{listed['wrong name']}** | **{listed['no name']}** | **{free.total()}** | "
        f"**{free['accused']}** |"
    )
    return lines


HEAD = """# Named mistakes

Wrong submissions in C and Python (`tests/mistakes`), and what the detector calls them.
They were written from `operators.h` and a list of mistakes alone, and committed before
the detector first ran on them. `python -m tests.mistakes.run --write LABEL` adds a run.
"""


def write(label: str, lines: list[str], failures: list[str]) -> None:
    """Add a run to the page."""
    text = TABLE.read_text() if TABLE.exists() else HEAD
    text += (
        f"\n## {label}\n\n"
        "| operator | listed | named right | named wrong | no name | unlisted |"
        " accused |\n|---|--:|--:|--:|--:|--:|--:|\n" + "\n".join(lines) + "\n"
    )
    if failures:
        text += "\n" + "\n".join(f"- {line}" for line in failures) + "\n"
    TABLE.write_text(text)


def main(arguments: list[str]) -> int:
    """Run the detector on all; 0 if every name is right."""
    parser = argparse.ArgumentParser(prog="python -m tests.mistakes.run")
    parser.add_argument("--only", default="", help="submissions whose name begins so")
    parser.add_argument("--write", metavar="LABEL", help="add to docs/results")
    args = parser.parse_args(arguments)
    build_tools()
    torch.set_num_threads(1)
    pin()
    found: dict[Submission, str] = {}
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        for submission in submissions():
            if not submission.name.startswith(args.only):
                continue
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
