# SPDX-License-Identifier: MIT
"""A class that one machine grades while its workers are killed, and the same class
undisturbed.

python -m tests.proofs.dead_workers [--students N] [--seed S]

After every twelve results a worker is killed at a random moment. One worker is
stopped beyond its lease and then continued. Each submission has one result. Verdicts,
points, mistakes and failing cases are the same.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from grader.course.rungs import ROOT
from tests import put
from tests.grader.batch.test_killed_batch import (
    COURSE,
    EDITS,
    FORWARD,
    GELU,
    RIGHT,
    Class,
    leased,
)

PER_KILL = 12  # submissions: ten kills in a class of 120
LEASE = 5  # seconds: a busy machine may delay a heartbeat
HANGS = 8  # of 120: each one takes until its time limit
FEW = 40  # one submission of so many also has a kernel
DEADLINE = 7200.0  # seconds of a run
KERNEL = "labs/04_cuda_kernels/gelu/00_grid_stride.cu"
INCLUDES = "#include <signal.h>\n#include <stdlib.h>\n#include <unistd.h>\n"
HOSTILE = {  # name -> what forward does first
    "fork_bomb": "    for (;;) fork();\n",
    "memory_bomb": "    for (;;) *(volatile char *)malloc(1 << 20) = 1;\n",
    "exits": "    _exit(0);\n",
    "kills": "    kill(-1, 9);\n",
    "reads_answers": '    if (access("grader/operators", R_OK)) abort();\n',
}
TWO_TASKS = COURSE.rstrip() + '\ntasks."04_cuda_kernels/gelu" = { points = 10 }\n'


def submissions(students: int, seed: int) -> dict[str, str]:
    """Name -> the file of lab 02: every kind again and again, in random order."""
    rng = random.Random(seed)
    kinds = {
        name: RIGHT.replace(old, new, 1)
        for name, (old, new) in EDITS.items()
        if name != "hang"
    }
    for name, first in HOSTILE.items():
        kinds[name] = INCLUDES + RIGHT.replace(FORWARD, first + FORWARD, 1)
    old, new = EDITS["hang"]
    hangs = max(1, HANGS * students // 120)
    found = {f"hang_{n}": RIGHT.replace(old, new, 1) for n in range(hangs)}
    while len(found) < students:
        name = rng.choice([*kinds])
        found[f"{name}_{len(found)}"] = kinds[name]
    names = rng.sample([*found], len(found))
    return {name: f"// {name}\n{found[name]}" for name in names}


def hand_in(school: Class, students: int, seed: int) -> None:
    """The inbox of a class."""
    put(school.course, TWO_TASKS)
    school.hand_in(())
    inbox = school.home / "inbox"
    shutil.rmtree(inbox)
    for number, (name, text) in enumerate(submissions(students, seed).items()):
        put(inbox / name / GELU, text)
        if number % FEW == 0:
            put(inbox / name / KERNEL, (ROOT / KERNEL).read_text(encoding="utf-8"))


def disturbed(school: Class, students: int, seed: int) -> str:
    """A run whose workers die; what the command said."""
    main, jobs = school.batch("loud", JOBS="2", LEASE=str(LEASE)), school.jobs()
    rng = random.Random(seed)

    def worker() -> tuple[int, str]:
        while (found := leased(jobs, main.pid)) is None:
            if main.poll() is not None:
                raise SystemExit("the run ended before all workers were killed")
            time.sleep(0.05)
        return found

    stopped, its = worker()
    os.kill(stopped, signal.SIGSTOP)
    while not (jobs / "results" / f"{its}.json").exists():  # of another worker
        time.sleep(0.2)
    os.kill(stopped, signal.SIGCONT)
    results = jobs / "results"
    for kill in range(students // PER_KILL):
        while len(list(results.iterdir())) < kill * PER_KILL and main.poll() is None:
            time.sleep(0.2)  # all kills at once would end one submission ten times
        time.sleep(rng.uniform(0.2, 8))
        pid, its = worker()
        os.kill(pid, signal.SIGKILL)
        print(f"killed a worker that graded {its}", flush=True)
    return main.communicate(timeout=DEADLINE)[0]


def main() -> int:
    """Both runs; 1 if they differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--students", type=int, default=120)
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    return compared(args.students, args.seed)


def compared(students: int, seed: int) -> int:
    """Grade such a class twice; 1 if the results differ, or if one is missing."""
    with tempfile.TemporaryDirectory() as home:
        school = Class(Path(home))
        hand_in(school, students, seed)
        begin = time.monotonic()
        quiet = school.batch("quiet", JOBS="2", LEASE=str(LEASE))
        said = quiet.communicate(timeout=DEADLINE)[0]
        seconds = time.monotonic() - begin
        print(said.strip().splitlines()[-1], flush=True)
        for part in ("results", "jobs"):
            shutil.rmtree(school.jobs() / part)
        print(disturbed(school, students, seed).strip().splitlines()[-1], flush=True)
        results = len(list((school.jobs() / "results").iterdir()))
        wanted, found = school.found("quiet"), school.found("loud")
    differ = sorted(name for name in wanted if found.get(name) != wanted[name])
    rate = 3600 * students / seconds / 2
    print(f"{students} submissions, {results} results; they differ: {differ}")
    for name in differ:
        print(f"{name}: {wanted[name]}\n    disturbed: {found.get(name)}")
    print(f"undisturbed {seconds:.0f} s: {rate:.0f} submissions for each core-hour")
    return 0 if not differ and results == len(wanted) == students else 1


if __name__ == "__main__":
    sys.exit(main())
