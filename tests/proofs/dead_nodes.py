# SPDX-License-Identifier: MIT
"""A class that Slurm grades while nodes die, and the same class undisturbed.

python -m tests.proofs.dead_nodes [--students N]

Each submission has one result. Verdicts, points, mistakes and failing cases are the
same.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

from tests import put
from tests.grader.batch import cluster
from tests.grader.batch.cluster import Cluster, until
from tests.grader.batch.test_killed_batch import EDITS, GELU, RIGHT, Class
from tests.grader.batch.test_slurm import graded_on

DEADLINE = 3600.0  # seconds of a run


def hand_in(school: Class, students: int) -> None:
    """So many submissions: every known mistake again and again, in other files."""
    school.hand_in(())
    shutil.rmtree(school.home / "inbox")
    for number, (mistake, (old, new)) in enumerate(list(EDITS.items()) * students):
        if number == students:
            return
        text = f"// {number}\n{RIGHT.replace(old, new, 1)}"
        put(school.home / "inbox" / f"{mistake}_{number}" / GELU, text)


def graded(school: Class, nodes: Cluster, kills: list[tuple[str, int]]) -> float:
    """The seconds of a run. A node dies in the middle of a job when so many results are
    there, and comes back when two more are.
    """
    begin = time.monotonic()
    main = school.batch("loud" if kills else "quiet", ENGINE="slurm", JOBS="2")

    def done() -> int:
        return len(list((school.jobs() / "results").glob("*.json")))

    for node, results in kills:
        until(lambda least=results: done() >= least, DEADLINE)
        until(lambda name=node: graded_on(school, name), DEADLINE)
        nodes.power_off(node)
        print(f"{node} died: {done()} results", flush=True)
        until(lambda least=results: done() >= least + 2, DEADLINE)
        nodes.power_on(node)
    said = main.communicate(timeout=DEADLINE)[0]
    print(said.strip().splitlines()[-1], flush=True)
    return time.monotonic() - begin


def main() -> int:
    """Two runs on one cluster; 1 if they differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--students", type=int, default=40)
    students = parser.parse_args().students
    if why := cluster.missing():
        print(why)
        return 1
    with tempfile.TemporaryDirectory() as home, cluster.running() as nodes:
        school = Class(Path(home), nodes.environment)
        hand_in(school, students)
        quiet = graded(school, nodes, [])
        for part in ("results", "jobs"):
            shutil.rmtree(school.jobs() / part)
        kills = [("one", students // 4), ("two", students // 2)]
        loud = graded(school, nodes, kills)
        results = len(list((school.jobs() / "results").iterdir()))
        same = school.found("loud") == school.found("quiet")
        leases = sorted(file.name for file in (school.jobs() / "leases").glob("[!.]*"))
    print(f"{students} submissions, {results} results, equal: {same}")
    print(f"leases of dead nodes: {len(leases)}; {quiet:.0f} s and {loud:.0f} s")
    return 0 if same and results == students and len(leases) == len(kills) else 1


if __name__ == "__main__":
    sys.exit(main())
