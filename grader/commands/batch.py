# SPDX-License-Identifier: MIT
"""`make batch COURSE= SUBMISSIONS=`: grade a class, also if something dies on the way;
the same command goes on where it ended. DRY=1 says who would be graded, and who not.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from grader.batch import (
    attempts,
    class_tree,
    disk_room,
    planning,
    roster,
    slurm,
    unpacked,
)
from grader.batch.attempts import Work
from grader.batch.crew import Crew, LocalCrew
from grader.batch.downloads import recognised
from grader.batch.downloads.download import Attempt
from grader.batch.planning import Files, Job, Refused
from grader.batch.queue import Queue, is_gone, owner
from grader.batch.roster import Roster
from grader.batch.slurm import SlurmCrew
from grader.commands import batch_worker, submission
from grader.commands.batch_worker import LEASE, TIMED
from grader.commands.submission import Order
from grader.course.foreign import one_line
from grader.course.handed.renewal import MANIFEST
from grader.course.offered import course_file
from grader.course.tasks import all_tasks
from grader.engine import results, schedule
from grader.engine.marks import desk, hand_in
from grader.engine.marks.people import Person, people
from grader.errors import GraderError
from grader.options import FRESH, JOBS, Arguments, Option, one_of, switch, text
from grader.report import terminal
from grader.runner.supervisor import orphans
from grader.toolchain.make import build_folder

EXAMPLE = "make batch COURSE=course.toml SUBMISSIONS=inbox/"
SOME_MISSING = 1  # exit status
MOST_ENDED = 50  # processes that end one after the other, and no result comes
SUBMISSIONS = Option(
    "SUBMISSIONS", "a folder of submissions, or a platform's download of all", text
)
ROSTER = Option("ROSTER", "a CSV file of the class", text)
DRY = Option("DRY", "1 only lists the students to grade", switch)
ENGINE = Option("ENGINE", "local or slurm", one_of("local", "slurm"))
SBATCH = Option("SBATCH", "options of sbatch, for ENGINE=slurm", text)
OPTIONS = (
    *submission.ORDER,
    *(SUBMISSIONS, ROSTER, DRY, FRESH, JOBS, ENGINE, SBATCH, TIMED, LEASE),
)
StartCrew = Callable[[int], Crew]  # for so many jobs


def run(arguments: Arguments) -> int:
    """Plan; unless DRY=1 says that this is all, grade and keep."""
    order = submission.order_of(arguments, EXAMPLE)
    if not arguments[SUBMISSIONS]:
        raise GraderError(f"name the folder of the submissions: {EXAMPLE}")
    on = roster.read(Path(named)) if (named := arguments[ROSTER]) else Roster()
    timed = arguments[TIMED]
    work = plan(order, Path(arguments[SUBMISSIONS]), on, timed=timed)
    if arguments[DRY]:
        _tell_roster(on, [one for each in work for one in _say_plan(each, order)])
        return 0
    folder = build_folder() / "batch" / order.made.name
    results.make_folder(folder)
    with Queue(folder, lease=arguments[LEASE] or batch_worker.LEASE_SECONDS) as queue:
        offers = order.wanted.offers
        files = sum(len(task.rungs) for task in all_tasks() if task.id in offers)
        engine = _engine(arguments, queue, files)
        run = _Run(order, queue, work, fresh=arguments[FRESH])
        run.graded(engine)
    _tell_roster(on, run.students)
    return _tell_missing(run)


def _engine(arguments: Arguments, queue: Queue, files: int) -> StartCrew:
    """What starts the processes that grade, here or in Slurm."""
    logs, place = queue.folder / "logs", {"CONVLAB_BUILD": str(build_folder())}
    command = [sys.executable, "-m", "grader", "batch_worker", f"FROM={queue.folder}"]
    command += [f"LEASE={queue.lease:g}"]
    place["JOBS"] = "1"
    if arguments[ENGINE] == "local":
        if arguments[SBATCH] or arguments[TIMED]:
            raise GraderError("SBATCH= and TIMED= need ENGINE=slurm")
        slots = arguments[JOBS] or schedule.slots()

        def here(jobs: int) -> Crew:
            count, shared = min(slots, jobs), queue.folder / class_tree.NAME
            disk_room.enough(
                queue.folder, shared, processes=count, files=files, jobs=jobs
            )
            return LocalCrew(command, place, logs, count)

        return here
    slurm.end(slurm.job_name(logs))  # tasks of a command that was killed
    command += ["OWN_DISK=1"]
    most, words = arguments[JOBS] or slurm.TASKS, arguments[SBATCH].split()
    if arguments[TIMED]:
        command, words = [*command, "TIMED=1"], [*slurm.ALONE, *words]
        place["JOBS"] = ""  # all cores of the node
    return lambda jobs: SlurmCrew(command, place, logs, min(most, jobs), words)


class _Run:
    """One run of the command: it alone writes on the desk."""

    def __init__(
        self,
        order: Order,
        queue: Queue,
        plan: Iterable[tuple[Job, Files] | Refused],
        *,
        fresh: bool,
    ) -> None:
        self.order, self.queue = order, queue
        self.jobs: dict[str, Job] = {}  # by id
        self.attempts: dict[tuple[str, ...], list[Job]] = {}  # of the same students
        self.missing: dict[str, str] = {}  # student -> why there are no points
        key = _grader(order)
        for one in plan:
            if isinstance(one, Refused):
                self._missing(one.students, one.why)
                continue
            job, files = one
            self.jobs.setdefault(job.id, job)
            self.attempts.setdefault(job.students, []).append(job)
            queue.add(job.id, files)
        self.students = [who for team in self.attempts for who in team]
        self.students += self.missing
        timed = all(_when(job.attempt, order) for job in self.jobs.values())
        submission.warn(order, timed=timed)
        queue.only(self.jobs, fresh=fresh)
        disk_room.forget(queue.results, self.jobs)
        class_tree.make(queue.folder, order.tree, order.wanted, key)

    def graded(self, start_crew: StartCrew) -> None:
        """Each job has a result, and each result is on the desk."""
        waits = set(self.jobs)
        self._collect(waits)
        if earlier := len(self.jobs) - len(waits):
            terminal.say(
                f"{earlier} have been graded before; FRESH=1 grades them again"
            )
        self._tidy()
        begin, ended, all_ = time.monotonic(), 0, len(waits)
        try:
            with start_crew(all_) as crew:
                while waits:
                    if self._collect(waits):
                        ended = 0
                        terminal.say(_estimate(all_, len(waits), begin))
                    if died := crew.tend():
                        self._tidy()
                        ended += died
                    if ended > MOST_ENDED:
                        raise GraderError(_all_end(ended, crew.last_words()))
                    time.sleep(crew.poll)
        except KeyboardInterrupt:
            graded = len(self.jobs) - len(waits)
            terminal.say(
                f"{graded} of {len(self.jobs)} are graded; run the same command again "
                "to continue"
            )
            raise
        finally:
            self._tidy()

    def _collect(self, waits: set[str]) -> bool:
        """Put the results that are there on the desk; whether there was one."""
        before = len(waits)
        for id_ in sorted(waits):
            result = self.queue.result(id_)
            if result is None:
                continue
            waits.discard(id_)
            mine = self.attempts[self.jobs[id_].students]
            if not waits & {job.id for job in mine}:
                self._keep(mine)
        return len(waits) < before

    def _keep(self, mine: list[Job]) -> None:
        """Put the best of these attempts on the desk, for each member of the team."""
        graded = [(job, self.queue.result(job.id) or {}) for job in mine]
        job, result = attempts.best(graded)
        if why := result.get("why"):
            self._missing(job.students, why)
            return
        order = replace(self.order, when=_when(job.attempt, self.order))
        for student in job.students:
            found = submission.keep(
                student, job.laid, result["results"], result["page"], order
            )
            submission.tell(student, found)

    def _missing(self, students: Collection[str], why: str) -> None:
        for student in students:
            self.missing[student] = why
            submission.refuse(student, why, self.order)
            terminal.say(f"{one_line(student)}: not graded")

    def _tidy(self) -> None:
        """Remove what processes have left that were killed; others get their jobs."""
        orphans.end()
        self.queue.bury()
        rooms = batch_worker.rooms(self.queue.folder)
        for room in rooms.iterdir() if rooms.is_dir() else ():
            if is_gone(room.name):
                shutil.rmtree(room, ignore_errors=True)


def _tell_missing(run: _Run) -> int:
    """At the end, who could not be graded. The status of the command."""
    of = len(run.students)
    terminal.say(f"{of - len(run.missing)} of {of} students were graded")
    for student, why in run.missing.items():
        terminal.say(f"not graded: {one_line(student)}: {one_line(why)}")
    return SOME_MISSING if run.missing else 0


def _estimate(all_: int, left: int, begin: float) -> str:
    """How far this run is, and how long it will still take."""
    done = all_ - left
    minutes = (time.monotonic() - begin) / done * left / 60
    rest = f", about {minutes:.0f} min left" if minutes >= 1 else ""
    return f"  {done} of {all_} are graded{rest}"


def _all_end(times: int, words: str) -> str:
    return (
        f"grading processes ended {times} times without a result. The last message: "
        f"{words}. Fix this, and run the same command again"
    )


# ---- who is graded -------------------------------------------------------------------


def plan(
    order: Order, source: Path, on: Roster, *, timed: bool
) -> Iterator[tuple[Job, Files] | Refused]:
    """The work of each student or team, one after the other."""
    key = f"{_grader(order)}{' timed' if timed else ''}"
    with _room(order) as work:
        labs, folder = {task.lab for task in all_tasks()}, source
        if packed := source.is_file():
            folder = work / "submissions"
            folder.mkdir()
            for path in unpacked.unpack(source, folder):
                terminal.say(f"left out of {one_line(source.name)}: {one_line(path)}")
        found = recognised.read(folder, work, packed=packed, labs=labs)
        for note in found.notes:
            terminal.say(note)
        chosen = partial(_chosen, order, people(order.place / desk.PEOPLE, order.made))
        taken = partial(hand_in.taken, tree=order.tree, made=order.made)
        works = attempts.works(found, on)
        yield from planning.planned(works, chosen, taken, key)


@contextlib.contextmanager
def _room(order: Order) -> Iterator[Path]:
    """This process' folder. If the process is killed, the next run removes it."""
    folder = build_folder() / "batch" / order.made.name
    room = batch_worker.rooms(folder) / owner(os.getpid())
    results.make_folder(room)
    try:
        yield room
    finally:
        shutil.rmtree(room, ignore_errors=True)


def _chosen(order: Order, persons: Mapping[str, Person], work: Work) -> list[Attempt]:
    """The attempts that are graded, by the last deadline of the parts."""
    more = max(persons.get(who, Person()).extension_days for who in work.students)
    deadline = max(part.deadline for part in order.wanted.parts) + timedelta(more)
    return attempts.chosen(work.hand_in, order.made.attempt, deadline)


def _when(attempt: Attempt, order: Order) -> datetime | None:
    """The time of a hand-in: the download's, or else that of WHEN=."""
    return attempt.when or order.when


def _tell_roster(on: Roster, students: Collection[str]) -> None:
    for who in on.nothing(students):
        terminal.say(f"handed in nothing: {one_line(who)}")
    for who in on.strange(students):
        terminal.say(f"not in ROSTER=: {one_line(who)}")


def _grader(order: Order) -> str:
    """What stands for all that gives the verdicts: handout, course, hidden cases."""
    hidden = {name: list(lines) for name, lines in order.wanted.hidden.cases.items()}
    words = course_file.for_grading(order.wanted), json.dumps(hidden, default=str)
    whole = "\0".join((*words, (order.tree / MANIFEST).read_text(encoding="utf-8")))
    return hashlib.sha256(whole.encode()).hexdigest()


def _say_plan(one: tuple[Job, Files] | Refused, order: Order) -> tuple[str, ...]:
    """Say what a dry run says of a student or a team, and who it is."""
    if isinstance(one, Refused):
        who = ", ".join(map(one_line, one.students))
        terminal.say(f"cannot be graded: {who}: {one_line(one.why)}")
        return one.students
    job, attempt = one[0], one[0].attempt
    when = _when(attempt, order)
    said = [", ".join(job.laid.written) or "nothing is written"]
    said += [f"attempt {attempt.number} of {attempt.of}"] if attempt.of > 1 else []
    said += [f"handed in {order.made.shown(when)}" if when else "time unknown"]
    said += [one_line(attempt.said)] if attempt.said else []
    who = ", ".join(map(one_line, job.students))
    team = "a team: " if len(job.students) > 1 else ""
    terminal.say(f"to grade: {team}{who}: {'; '.join(said)}")
    return job.students
