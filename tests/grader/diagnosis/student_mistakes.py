# SPDX-License-Identifier: MIT
"""What does the grader say of the 200 wrong submissions of students?

    python -m tests.grader.diagnosis.student_mistakes [--only ID ...] [--new] [--jobs 2]
        [--table]

Each rung of tests/programs/student_mistakes is graded as by `make grade SPEED=off`,
from a copy: the tree stays as it is. What is said is kept in results.json
beside the entries, after every entry: a run that is stopped goes on where it ended.
--new asks of all again. --table writes docs/results/student_mistakes.md of what is kept
there and in judged.json, where a person has judged every sentence.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from concurrent.futures import as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from grader.toolchain import make
from grader.verdicts import Verdict
from tests.house.student_mistakes import FOLDER, Mistake, student_mistakes
from tests.proofs import pages
from tests.proofs.mutations.frame import copied, processes
from tests.proofs.mutations.graded_once import GradedAlone, graded, ready

RESULTS = FOLDER / "results.json"
JUDGED = FOLDER / "judged.json"  # id -> first run: verdict, name, judgement; now
PAGE = """# The 200 wrong submissions of students, one by one

Written by `python -m tests.grader.diagnosis.student_mistakes --table`.
The entries are in `tests/programs/student_mistakes`, the messages in `results.json`
there, the judgements, made by reading, in `judged.json`. What the words mean, and the
sums, stand in `mistakes.md`. A dash is an entry that was not graded again since then.
"""
SEED = 7
WHAT = ("verdict", "name", "judged")


@dataclass(frozen=True)
class Said:
    """One check that did not pass, and every sentence beside it."""

    direction: str
    check: str
    dtype: str
    verdict: str
    failed: int
    cases: int
    mistake: str | None
    message: str
    diagnosis: str | None
    location: str | None


def graded_whole(mistake: Mistake) -> tuple[list[Said], float]:
    """All checks of a submission that did not pass, and how long it took."""
    start = time.perf_counter()
    with copied(mistake.rung, mistake.text()) as copy:
        result = graded(mistake.rung, copy, SEED, GradedAlone)
        folder = f"{Path(copy.parents[3]).relative_to(Path.cwd())}/"

    def plain(text: str | None) -> str | None:
        return text and text.replace(folder, "")

    said = [
        Said(
            check.direction,
            check.name,
            check.dtype,
            str(check.verdict),
            check.failed,
            check.cases,
            check.mistake,
            plain(check.message) or "",
            plain(check.diagnosis),
            plain(check.location),
        )
        for check in result.checks
        if check.verdict is not Verdict.PASS
    ]
    return said, round(time.perf_counter() - start, 1)


def read() -> dict[str, Any]:
    """What was kept, by the entries' ids."""
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def keep(found: dict[str, Any]) -> None:
    """One line for each check, in the order of the entries."""
    kept = []
    for mistake in student_mistakes():
        if mistake.id in found:
            lines = ",\n".join(json.dumps(said) for said in found[mistake.id])
            kept.append(f'"{mistake.id}": [\n{lines}\n]')
    RESULTS.write_text("{\n" + ",\n".join(kept) + "\n}\n")


def first_of(said: list[dict[str, Any]]) -> tuple[str, str]:
    """The verdict and the name of a submission: of its first check that has a name."""
    if not said:
        return "PASS", ""
    named = next((one for one in said if one["mistake"]), said[0])
    return said[0]["verdict"], named["mistake"] or ""


def write_table() -> None:
    """The page with every entry."""
    judged, found = json.loads(JUDGED.read_text()), read()
    rows = []
    for mistake in student_mistakes():
        one = judged[mistake.id]
        now = [*first_of(found[mistake.id]), one["now"]] if one["now"] else ["-"] * 3
        rows.append([mistake.id, mistake.kind, *one["first"], *now])
    columns = [f"{run} {what}" for run in ("first", "now") for what in WHAT]
    lines = pages.table(["id", "kind", *columns], rows, words=8)
    pages.write("student_mistakes.md", PAGE, "\n".join(lines))


def show(mistake: Mistake, said: list[Said], seconds: float) -> None:
    """One entry for the terminal."""
    print(f"{mistake.id} ({seconds:.1f} s): {mistake.what}")
    for one in said:
        print(f"  {one.verdict} {one.direction} {one.check} {one.dtype} {one.mistake}")
        for text in (one.message, one.diagnosis, one.location):
            if text:
                print(f"    {text}")
    if not said:
        print("  PASS")
    sys.stdout.flush()


def main(words: list[str]) -> int:
    """Grade what is asked for, and keep what is said."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.grader.diagnosis.student_mistakes"
    )
    parser.add_argument("--only", nargs="+", default=[], help="beginnings of ids")
    parser.add_argument("--new", action="store_true", help="also what is known")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--table", action="store_true", help="write the page alone")
    arguments = parser.parse_args(words)
    if arguments.table:
        write_table()
        return 0
    found = {} if arguments.new and not arguments.only else read()
    chosen = [
        mistake
        for mistake in student_mistakes()
        if mistake.id.startswith(tuple(arguments.only) or "")
        and (arguments.new or arguments.only or mistake.id not in found)
    ]
    if not chosen:
        print("nothing is left to ask")
        return 0
    make.build_tools()
    with processes(arguments.jobs, ready) as pool:
        asked = {pool.submit(graded_whole, mistake): mistake for mistake in chosen}
        for one in as_completed(asked):
            said, seconds = one.result()
            found[asked[one].id] = [asdict(each) for each in said]
            show(asked[one], said, seconds)
            keep(found)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
