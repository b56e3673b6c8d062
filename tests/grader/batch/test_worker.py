# SPDX-License-Identifier: MIT
"""A process that grades: what becomes of a job that it cannot end, and of itself."""

from __future__ import annotations

import errno
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.batch import worker
from grader.batch.crew import Crew, LocalCrew
from grader.batch.queue import MOST, Queue
from grader.engine.marks import hand_in
from grader.errors import GraderError
from tests import put
from tests.conftest import raising
from tests.grader.course.offered import read


@pytest.fixture
def jobs(tmp_path: Path) -> Queue:
    """A queue with one job."""
    made = Queue(tmp_path / "jobs", lease=100)
    made.add("a1", {"labs/x.c": b"mine"})
    return made


def leases(jobs: Queue) -> list[str]:
    return [file.name for file in jobs.leases.glob("a1.*")]


def test_a_result_is_put_and_the_room_is_empty_again(jobs, tmp_path):
    def grade(files: Path, room: Path) -> dict[str, str]:
        put(room / "tree" / "x")
        return {"text": (files / "labs/x.c").read_text()}

    worker.work(jobs, grade, tmp_path / "room")
    assert jobs.result("a1") == {"text": "mine"} and not leases(jobs)
    assert not (tmp_path / "room").exists()


def test_a_job_whose_grading_is_ended_each_time_is_not_tried_for_ever(jobs, tmp_path):
    tries = []

    def grade(files: Path, room: Path) -> dict[str, str]:
        tries.append(room)
        raise worker.Again("killed")

    worker.work(jobs, grade, tmp_path / "room")
    assert len(tries) == MOST and jobs.result("a1") == {"why": worker.TOO_OFTEN}


@pytest.mark.parametrize(
    ("error", "counts"),
    [
        (KeyboardInterrupt(), False),
        (OSError(errno.ENOSPC, "full"), False),
        (GraderError("no compiler"), False),
        (ValueError("ours"), True),
    ],
)
def test_a_job_counts_as_tried_if_it_may_be_the_cause(jobs, tmp_path, error, counts):
    with pytest.raises(type(error)):
        worker.work(jobs, raising(error), tmp_path / "room")
    assert leases(jobs) == (["a1.1"] if counts else []) and jobs.claim()
    assert not (tmp_path / "room").exists()


@pytest.mark.parametrize("end", ["os._exit(130)", "os.kill(os.getpid(), 9)"])
def test_a_grading_that_somebody_ends_is_for_another_attempt(tmp_path, end):
    put(tmp_path / "tree/grader/__init__.py", "")
    put(tmp_path / "tree/grader/__main__.py", f"import os; {end}")
    with pytest.raises(hand_in.Ended, match="grade this submission again"):
        hand_in.grade(tmp_path / "tree", tmp_path / "build", read(tmp_path))


def tended(crew: Crew, true: Callable[[int], bool]) -> None:
    """Until so many have ended."""
    ended, end = 0, time.monotonic() + 20
    while not true(ended):
        assert time.monotonic() < end
        ended += crew.tend()
        time.sleep(0.01)


def test_a_process_that_fails_is_started_again_and_one_that_is_done_is_not(tmp_path):
    count = f"from pathlib import Path; f = Path({str(tmp_path / 'starts')!r})\n"
    count += "f.open('a').write('x'); left = 3 - f.stat().st_size\n"
    count += "print('one more'); raise SystemExit(left > 0)"
    with LocalCrew([sys.executable, "-c", count], {}, tmp_path / "logs", 1) as crew:
        tended(crew, lambda ended: ended == 2)
        time.sleep(0.5)
        assert crew.tend() == 0 and crew.last_words() == "one more"
    assert (tmp_path / "starts").read_text() == "xxx"


def test_an_end_is_an_end_for_all(tmp_path):
    sleeps = "import time; print('here', flush=True); time.sleep(60)"
    begin = time.monotonic()
    with LocalCrew([sys.executable, "-c", sleeps], {}, tmp_path / "logs", 2) as crew:
        tended(crew, lambda _: crew.last_words() == "here")
    assert time.monotonic() - begin < 20
