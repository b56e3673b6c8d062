# SPDX-License-Identifier: MIT
"""Jobs on disk: one process has a job, another one gets it after its end, and each job
has one result.
"""

from __future__ import annotations

import os
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from grader.batch import queue
from grader.batch.queue import Lease, Queue
from grader.errors import GraderError
from tests import put

LONG = 100.0  # seconds of a lease


@pytest.fixture
def jobs(tmp_path: Path) -> Queue:
    """A queue with one job."""
    made = Queue(tmp_path, lease=LONG)
    made.add("a1", {"labs/x.c": b"mine"})
    return made


def number(lease: Lease | None) -> int:
    return lease.number if lease else 0


def test_a_job_is_had_by_one_until_it_is_given_back(jobs):
    lease = jobs.claim()
    assert lease and (lease.id, lease.number) == ("a1", 1)
    assert (jobs.jobs / "a1/files/labs/x.c").read_bytes() == b"mine"
    assert Queue(jobs.folder, lease=LONG).claim() is None
    lease.give_back()
    assert number(jobs.claim()) == 1


def test_a_lease_without_a_heartbeat_is_taken_over_once(jobs):
    first = jobs.claim()
    assert first
    old = time.time() - LONG - 1
    os.utime(first.file, (old, old))
    second = Queue(jobs.folder, lease=LONG).claim()
    assert second and second.number == 2
    os.utime(first.file)  # the first one goes on, and its heartbeat counts no more
    assert jobs.claim() is None
    os.utime(second.file, (old, old))
    assert number(jobs.claim()) == 3


def test_a_heartbeat_keeps_a_lease(tmp_path):
    jobs = Queue(tmp_path, lease=0.5)
    jobs.add("a1", {})
    lease = jobs.claim()
    assert lease
    with lease.beating(0.5):
        end = time.monotonic() + 1
        while time.monotonic() < end:
            assert jobs.claim() is None
            time.sleep(0.05)


def test_of_two_who_look_at_once_one_gets_the_lease(jobs, monkeypatch):
    other = Queue(jobs.folder, lease=LONG)
    monkeypatch.setattr(other, "_taken", lambda id_: {})  # it looked before
    assert jobs.claim() and other.claim() is None


def test_many_who_claim_at_once_get_one_lease(jobs):
    with ThreadPoolExecutor(8) as pool:
        for _ in range(20):
            got = [x for x in pool.map(lambda _: jobs.claim(), range(8)) if x]
            assert len(got) == 1
            got[0].give_up()
    assert number(jobs.claim()) == 21


def test_the_first_result_stands(jobs):
    with ThreadPoolExecutor(4) as pool:
        others = [Queue(jobs.folder, lease=LONG) for _ in range(4)]
        for number, other in enumerate(others):
            other._me = f"other-{number}"
        won = list(pool.map(lambda i: others[i].put("a1", {"points": i}), range(4)))
    assert won.count(True) == 1
    assert jobs.result("a1") == {"points": won.index(True)}
    assert jobs.waiting() == [] and jobs.claim() is None
    assert [file.name for file in jobs.results.iterdir()] == ["a1.json"]


def test_the_leases_of_ended_processes_end(jobs):
    lease = jobs.claim()
    assert lease
    jobs.bury()
    assert jobs.claim() is None
    ended = subprocess.Popen(["true"])
    ended.wait()
    lease.file.write_text(queue.owner(ended.pid))
    jobs.bury()
    second = jobs.claim()
    assert second and second.number == 2
    second.file.write_text("another-host-1")
    jobs.bury()
    assert jobs.claim() is None


def test_a_plan_forgets_other_jobs_and_keeps_results_unless_fresh(jobs):
    jobs.add("b2", {})
    assert jobs.claim() and jobs.put("a1", {"points": 1})
    jobs.only(["a1"])
    assert jobs.waiting() == [] and jobs.result("a1") == {"points": 1}
    jobs.only(["a1"], fresh=True)
    assert jobs.waiting() == ["a1"] and number(jobs.claim()) == 1


def test_a_damaged_result_is_named(jobs):
    put(jobs.results / "a1.json", "{")
    with pytest.raises(
        GraderError, match=r"a1\.json cannot be read as the result of a job"
    ):
        jobs.result("a1")
