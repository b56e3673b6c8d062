# SPDX-License-Identifier: MIT
"""What does the grader say of a collection of students' wrong submissions?

    python -m tests.grader.diagnosis.student_mistakes [student_mistakes]
        [--only ID ...] [--new] [--jobs 2] [--table]
    python -m tests.grader.diagnosis.student_mistakes unseen_mistakes ...
    python -m tests.grader.diagnosis.student_mistakes unseen_mistakes_2 ...
    python -m tests.grader.diagnosis.student_mistakes unseen_mistakes_3 ...

Each entry of the collection in tests/programs is graded as by `make grade SPEED=off`,
from a copy. A file of lab 05 is changed in place, and put back at the end. What is said
is kept in results.json beside the entries, after every entry: a run that is stopped
goes on where it ended.
--new asks of all again. --table writes the collection's page in docs/results of what
is kept there and in judged.json, where a person has judged every sentence.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import as_completed
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from grader.toolchain import make
from grader.verdicts import Verdict
from tests import PROGRAMS, ROOT
from tests.house.student_mistakes import Mistake, student_mistakes
from tests.proofs import pages
from tests.proofs.mutations.frame import copied, processes
from tests.proofs.mutations.graded_once import GradedAlone, graded, ready

RESULTS = "results.json"
JUDGED = "judged.json"  # id -> first run: verdict, name, judgement; now
STUDENTS = """# The 200 wrong submissions of students, one by one

Written by `python -m tests.grader.diagnosis.student_mistakes --table`.
The entries are in `tests/programs/student_mistakes`, the messages in `results.json`
there, the judgements, made by reading, in `judged.json`. What the words mean, and the
sums, stand in `mistakes.md`. A dash is an entry that was not graded again since then.
"""
UNSEEN = """# 120 {more}wrong submissions that the grader had not seen

Written by `python -m tests.grader.diagnosis.student_mistakes {folder} --table`.
The entries, and how they were written and are judged, are in
`tests/programs/{folder}`. The entries and the rule of judging were committed
before the first run{commit}. All sentences were read by one person.
"""
FIRST, SECOND = "unseen_mistakes", "unseen_mistakes_2"
THIRD = "unseen_mistakes_3"
COLLECTIONS = {
    "student_mistakes": STUDENTS,
    FIRST: UNSEEN.format(more="", folder=FIRST, commit=" (commit b4b51881)"),
    SECOND: UNSEEN.format(more="more ", folder=SECOND, commit=" (commit 0e74985c)"),
    THIRD: UNSEEN.format(more="other ", folder=THIRD, commit=""),
}
SEED = 7
WHAT = ("verdict", "name", "judged")
NUMBERS = (Verdict.WRONG_VALUE, Verdict.WRONG_GRADIENT)
JUDGEMENTS = ("right", "told", "none", "wrong")  # words of unseen_mistakes/README.md


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


def graded_in_place(mistake: Mistake) -> tuple[list[Said], float]:
    """The same of a file of lab 05, which is built with the files beside it."""
    start = time.perf_counter()
    right = mistake.path.read_text()
    lab, file = mistake.rung.split("/")[1], mistake.path.stem
    words = ["make", "grade", f"T={lab}/{file}", "SPEED=off", f"SEED={SEED}"]
    build = ROOT / "build" / "wrong_extension"  # kept: it has the kernels
    try:
        mistake.path.write_text(mistake.text())
        environment = {**os.environ, "CONVLAB_BUILD": str(build)}
        run = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True)
        run.check_returncode()
    finally:
        mistake.path.write_text(right)
    results = json.loads((build / "grade" / "results.json").read_text())
    names = [one.name for one in fields(Said) if one.name != "check"]
    said = [
        Said(check=check["name"], **{name: check[name] for name in names})
        for task in results["tasks"]
        for rung in task["rungs"]
        for check in rung["checks"]
        if check["verdict"] != Verdict.PASS
    ]
    return said, round(time.perf_counter() - start, 1)


def graded_whole(mistake: Mistake) -> tuple[list[Said], float]:
    """All checks of a submission that did not pass, and how long it took."""
    if "convlab_ext" in mistake.rung or "csrc" in mistake.rung:
        return graded_in_place(mistake)
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


def read(folder: Path) -> dict[str, Any]:
    """What was kept, by the entries' ids."""
    kept = folder / RESULTS
    return json.loads(kept.read_text()) if kept.exists() else {}


def keep(folder: Path, found: dict[str, Any]) -> None:
    """One line for each check, in the order of the entries."""
    kept = []
    for mistake in student_mistakes(folder):
        if mistake.id in found:
            lines = ",\n".join(json.dumps(said) for said in found[mistake.id])
            kept.append(f'"{mistake.id}": [\n{lines}\n]')
    (folder / RESULTS).write_text("{\n" + ",\n".join(kept) + "\n}\n")


def first_of(said: list[dict[str, Any]]) -> tuple[str, str]:
    """The verdict and the name of a submission: of its first check that has a name."""
    if not said:
        return "PASS", ""
    named = next((one for one in said if one["mistake"]), said[0])
    return said[0]["verdict"], named["mistake"] or ""


def write_table(folder: Path) -> None:
    """The page with every entry."""
    judged, found = json.loads((folder / JUDGED).read_text()), read(folder)
    rows = []
    for mistake in student_mistakes(folder):
        one = judged[mistake.id]
        now = [*first_of(found[mistake.id]), one["now"]] if one["now"] else ["-"] * 3
        rows.append([mistake.id, mistake.kind, *one["first"], *now])
    columns = [f"{run} {what}" for run in ("first", "now") for what in WHAT]
    lines = pages.table(["id", "kind", *columns], rows, words=8)
    sums = [] if folder.name == "student_mistakes" else sums_of(folder, judged)
    page = COLLECTIONS[folder.name], "\n".join(sums), "\n".join(lines)
    pages.write(f"{folder.name}.md", *page)


def sums_of(folder: Path, judged: dict[str, Any]) -> list[str]:
    """How many of each lab were judged how, at the first run."""
    first: Counter[tuple[str, str, bool, str]] = Counter()
    for mistake in student_mistakes(folder):
        verdict, _, word = judged[mistake.id]["first"]
        lab = mistake.rung.split("/")[1][:2]
        first[lab, mistake.kind, verdict in NUMBERS, word] += 1
    rows: list[list[Any]] = []
    for kind in ("listed", "unusual"):
        for numbers in (True, False):
            for lab in ("01", "02", "03", "04", "05"):
                counts = [first[lab, kind, numbers, word] for word in JUDGEMENTS]
                what = "wrong numbers" if numbers else "another verdict"
                if sum(counts):
                    rows.append([kind, what, lab, sum(counts), *counts])
        of_kind = [row for row in rows if row[0] == kind]
        sums = [sum(column) for column in zip(*(row[3:] for row in of_kind))]
        rows.append([f"**{kind}**", "all", "all", *sums])
    return pages.table(
        ["kind", "verdict", "lab", "entries", *JUDGEMENTS], rows, words=3
    )


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
    parser.add_argument(
        "collection", nargs="?", default="student_mistakes", choices=COLLECTIONS
    )
    parser.add_argument("--only", nargs="+", default=[], help="beginnings of ids")
    parser.add_argument("--new", action="store_true", help="also what is known")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--table", action="store_true", help="write the page alone")
    arguments = parser.parse_args(words)
    folder = PROGRAMS / arguments.collection
    if arguments.table:
        write_table(folder)
        return 0
    found = {} if arguments.new and not arguments.only else read(folder)
    chosen = [
        mistake
        for mistake in student_mistakes(folder)
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
            keep(folder, found)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
