# SPDX-License-Identifier: MIT
"""A class whose graders are killed and stopped while they work: each submission has one
result, and it is the one of a run that nobody disturbed.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from grader.batch.queue import owner
from grader.course.rungs import ROOT
from grader.engine.marks import desk
from grader.runner.supervisor import cores
from tests import put
from tests.grader.commands.test_handed_in import GELU

COURSE = """name = "tiny"
title = "Tiny"
begins = 2026-11-01T09:00:00+01:00
[hidden]
seeds = [730417]
[[part]]
id = "week_1"
title = "One"
due_days = 7
tasks."02_naive_c/gelu" = { points = 20 }
"""
LEASE = 2  # seconds
KILLS = 4
SECONDS = 240.0
RIGHT = (ROOT / GELU).read_text(encoding="utf-8")
FORWARD = "    (void)ctx;\n    for"  # the first statement of forward
EDITS = {  # student -> what stands there instead, where
    "right": ("", ""),
    "crash": (FORWARD, f"    *(volatile int *)8 = 1;\n{FORWARD}"),
    "hang": (FORWARD, f"    for (volatile int i = 0; i < 1; ) {{}}\n{FORWARD}"),
    "no_compile": (FORWARD, f"    this is no C;\n{FORWARD}"),
    "wrong_value": ("(accum)0.5 * x * (1 + squashed)", "x * (1 + squashed)"),
    "no_tanh": ("approximate == GELU_NONE ? ", "1 ? "),
    "wrong_slope": ("+ x * density", "+ density"),
    "no_grad_output": ("_data(grad_output)[at] * slope", "_data(grad_output)[at]"),
}
POINTS = {"right": 20.0, "starter": 0.0, "no_compile": 0.0}  # others: a direction
PROC = Path("/proc")


class Class:
    """A course with a handout, its inbox, and the command that grades it."""

    def __init__(self, home: Path, environment: Mapping[str, str] = os.environ) -> None:
        self.home, self.build, self.environment = home, home / "build", environment
        self.course = put(home / "course.toml", COURSE)

    def start(self, command: str, place: str, **words: str) -> subprocess.Popen[str]:
        """The command, with a desk and a folder of jobs of this name."""
        environment = {**self.environment, "CONVLAB_BUILD": str(self.build), **words}
        environment |= {"COURSE": str(self.course), "DESK": str(self.home / place)}
        return subprocess.Popen(
            [sys.executable, "-m", "grader", command],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def batch(self, place: str, **words: str) -> subprocess.Popen[str]:
        words = {"LEASE": str(LEASE), "JOBS": "3", **words}
        return self.start("batch", place, SUBMISSIONS=str(self.home / "inbox"), **words)

    def hand_in(self, students: Iterable[str]) -> None:
        """Make the handout, and the inbox of these students."""
        done = self.start("handout", "desk")
        assert done.wait(SECONDS) == 0, done.communicate()[0]
        for student in students:
            old, new = EDITS[student]
            assert old in RIGHT
            put(self.home / "inbox" / student / GELU, RIGHT.replace(old, new, 1))
        starter = self.build / "handout" / "tiny" / "student" / GELU
        put(self.home / "inbox" / "starter" / GELU, starter.read_text())
        put(self.home / "inbox" / "broken.zip", "PK no zip")

    def jobs(self) -> Path:
        return self.build / "batch" / "tiny"

    def found(self, place: str) -> dict[str, Any]:
        """What is on the desk of everybody, without times."""
        folder = self.home / place / "tiny"
        return {
            student: [
                (task["points"], task["pending"], rung["id"], check_words(check))
                for task in record.results["tasks"]
                for rung in task["rungs"]
                for check in rung["checks"]
            ]
            for student, record in desk.everybody(folder).items()
        } | {student: [why] for student, why in desk.refused(folder).items()}


def check_words(check: dict[str, Any]) -> dict[str, Any]:
    """A check without what a busy machine changes."""
    names = ("name", "direction", "dtype", "verdict", "cases", "failed", "location")
    return {name: check[name] for name in (*names, "replay", "mistake")}


@pytest.fixture
def school(tmp_path) -> Iterator[Class]:
    os.sched_setaffinity(0, set(cores.given()) | os.sched_getaffinity(1))
    made = Class(tmp_path)
    made.hand_in(EDITS)
    yield made


def workers(main: int) -> dict[int, str]:
    """The processes that a batch has started, with the job that each has now."""
    children = PROC / str(main) / "task" / str(main) / "children"
    return {int(one): owner(int(one)) for one in children.read_text().split()}


def leased(jobs: Path, main: int) -> tuple[int, str] | None:
    """A process that has a job, and which."""
    for file in sorted((jobs / "leases").glob("[!.]*")):
        with contextlib.suppress(FileNotFoundError):
            holder = file.read_text()
            for pid, name in workers(main).items():
                if name == holder:
                    return pid, file.stem
    return None


def until(true: Callable[[], Any]) -> Any:
    """What is true in the end."""
    end = time.monotonic() + SECONDS
    while not (found := true()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return found


def test_each_submission_has_the_result_of_an_undisturbed_run(school):
    quiet = school.batch("quiet")
    said = quiet.communicate(timeout=SECONDS)[0]
    assert quiet.returncode == 1 and "9 of 10 students were graded" in said, said
    wanted = school.found("quiet")
    assert set(wanted) == {*EDITS, "starter", "broken"}
    points = {name: checks[0][0] for name, checks in wanted.items() if name != "broken"}
    assert points == dict.fromkeys(points, 10.0) | POINTS
    for part in ("results", "jobs"):
        shutil.rmtree(school.jobs() / part)

    rng, main, jobs = random.Random(7), school.batch("loud"), school.jobs()
    stopped, its = until(lambda: leased(jobs, main.pid))
    os.kill(stopped, signal.SIGSTOP)
    until((jobs / "results" / f"{its}.json").exists)  # of another process
    result = (jobs / "results" / f"{its}.json").read_bytes()
    os.kill(stopped, signal.SIGCONT)
    until(lambda: not (jobs / "leases" / f"{its}.1").exists())  # it has put its own
    assert (jobs / "results" / f"{its}.json").read_bytes() == result
    for kill in range(KILLS):
        time.sleep(rng.uniform(0.2, 1.5))
        if kill == KILLS // 2:  # the command itself, and all that it has started
            main.kill()
            main.communicate()
            main = school.batch("loud")
        else:
            pid, _ = until(lambda main=main: leased(jobs, main.pid))
            os.kill(pid, signal.SIGKILL)
    said = main.communicate(timeout=SECONDS)[0]
    assert "9 of 10 students were graded" in said, said
    assert school.found("loud") == wanted
    assert len(list((jobs / "results").iterdir())) == 9
    assert not list((jobs / "rooms").iterdir()) and not leased(jobs, os.getpid())
    assert json.loads(result)["results"]["seed"] == 730417
