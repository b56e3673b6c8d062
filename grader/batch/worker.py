# SPDX-License-Identifier: MIT
"""Takes jobs, grades each job in its own folder, and puts the result in place."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from grader.batch.queue import MOST, Queue
from grader.errors import of_machine

POLL = 0.5  # seconds, while others have the jobs that are left
TOO_OFTEN = (
    f"the grader ended {MOST} times before it had a result: grade this submission alone"
)


class Again(Exception):
    """A grading was ended from outside: its job is for another attempt."""


def work(
    queue: Queue, grade: Callable[[Path, Path], Mapping[str, Any]], room: Path
) -> None:
    """Until each job has a result. `grade` gets the files of a job and an empty folder.

    Where this process is told to end, its job is as if it had never been taken.
    """
    while queue.waiting():
        lease = queue.claim()
        if lease is None:
            time.sleep(POLL)
            continue
        if lease.number > MOST:
            queue.put(lease.id, {"why": TOO_OFTEN})
            continue
        try:
            room.mkdir(parents=True)
            with lease.beating(queue.lease):
                result = grade(queue.jobs / lease.id / "files", room)
            queue.put(lease.id, result)
        except Again:
            lease.give_up()
        except Exception as error:
            if of_machine(error):  # the submission is not the cause
                lease.give_back()
            else:
                lease.give_up()
            raise
        except KeyboardInterrupt:
            lease.give_back()
            raise
        else:
            lease.give_back()
        finally:
            shutil.rmtree(room, ignore_errors=True)
