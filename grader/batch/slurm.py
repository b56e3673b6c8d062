# SPDX-License-Identifier: MIT
"""The processes that grade, as tasks of a Slurm job array.

The nodes share the folder of the jobs, the repository and its Python. Slurm starts a
task again if its node dies. A task that fails is submitted again here.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from grader.batch.crew import PATIENCE, Crew
from grader.course.foreign import short
from grader.course.rungs import ROOT
from grader.errors import GraderError
from grader.report import terminal

ASKED = ("--cpus-per-task=1", "--mem=4G")  # of a task; SBATCH= may say more
ALONE = ("--exclusive", "--mem=0")  # a whole node
TASKS = 16  # of an array
POLL = 5.0  # seconds between two questions to Slurm
SILENCE = 600.0  # seconds in which Slurm does not answer
DEADLINE = 60.0  # seconds for one command of Slurm
LONGEST = 300  # characters of what Slurm says
FAILED = {
    *("FAILED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "BOOT_FAIL", "DEADLINE"),
    *("PREEMPTED", "REVOKED", "GONE"),
}
GONE = "GONE"  # Slurm has forgotten the task


class SlurmCrew(Crew):
    """An array of so many tasks. The first `tend` submits it."""

    poll = 2.0

    def __init__(
        self,
        command: Sequence[str],
        place: Mapping[str, str],
        logs: Path,
        count: int,
        words: Sequence[str],
    ) -> None:
        super().__init__(command, logs)
        self._place, self._words = {**os.environ, **place}, list(words)
        self.name = job_name(logs)
        self._tasks: dict[str, int] = {}  # name in Slurm -> number in the array
        self._to_start = list(range(count))
        self._asked = self._answered = time.monotonic()

    def tend(self) -> int:
        """As of every crew. Raises GraderError if somebody else has ended a task."""
        now, ended = time.monotonic(), 0
        if self._tasks and now - self._asked > POLL:
            self._asked = now
            ended = self._look(now)
        if self._to_start:
            self._submit()
        return ended

    def close(self) -> None:
        try:
            end(self.name)
        except GraderError as error:
            terminal.say(f"tasks may still run: scancel --name={self.name} ({error})")

    def _look(self, now: float) -> int:
        """Sort the tasks by what Slurm says of them: how many have failed."""
        try:
            states = _states(self.name)
        except GraderError:  # the controller starts again: tasks go on without it
            if now - self._answered > SILENCE:
                raise
            return 0
        self._answered = now
        before = len(self._to_start)
        for task, number in list(self._tasks.items()):
            state = states.get(task, GONE)
            if state == "CANCELLED":
                raise GraderError(
                    f"the task {task} of Slurm was cancelled; run the same command "
                    "again to continue"
                )
            if state in FAILED:
                self._to_start.append(number)
            if state in FAILED or state == "COMPLETED":
                del self._tasks[task]
        return len(self._to_start) - before

    def _submit(self) -> None:
        job = _answer(
            *("sbatch", "--parsable", f"--job-name={self.name}"),
            f"--array={','.join(map(str, self._to_start))}",
            *("--requeue", "--export=ALL", f"--chdir={ROOT}"),
            *(f"--output={self._logs}/%a.log", *ASKED, *self._words),
            f"--wrap=exec {shlex.join(self._command)}",
            environment=self._place,
        ).partition(";")[0]
        terminal.say(f"Slurm's job {job}: {len(self._to_start)} tasks")
        self._tasks |= {f"{job}_{number}": number for number in self._to_start}
        self._to_start = []


def job_name(logs: Path) -> str:
    """The name in Slurm of what grades into a folder, and into no other one."""
    digest = hashlib.sha256(str(logs.resolve()).encode()).hexdigest()
    return f"convlab-{logs.parent.name}-{digest[:8]}"


def end(name: str) -> None:
    """End all tasks of this name, and wait until they have put their jobs back.
    Raises GraderError if there is no Slurm.
    """
    _answer("scancel", f"--name={name}")
    patience = time.monotonic() + PATIENCE
    while _answer("squeue", "--noheader", f"--name={name}"):
        if time.monotonic() > patience:  # a dead node cannot say that a task has ended
            return
        time.sleep(0.5)


def _states(name: str) -> dict[str, str]:
    """What Slurm says of each task, also of those that ended minutes ago."""
    lines = _answer(
        *("squeue", "--noheader", "--array", "--states=all"),
        *(f"--name={name}", "--format=%F_%K %T"),
    ).splitlines()
    return dict(line.split() for line in lines)


def _answer(*command: str, environment: Mapping[str, str] | None = None) -> str:
    """What a command of Slurm prints. Raises GraderError if it fails."""
    try:
        done = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=DEADLINE,
        )
    except FileNotFoundError as error:
        raise GraderError(
            f"ENGINE=slurm: there is no {command[0]} on this machine. Run the command "
            "on a machine that submits jobs to Slurm, or leave out ENGINE="
        ) from error
    except subprocess.TimeoutExpired as error:
        raise GraderError(f"{command[0]} gave no answer in {DEADLINE:g} s") from error
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
        raise GraderError(f"Slurm: {short(lines[-1], LONGEST)}")
    return done.stdout.strip()
