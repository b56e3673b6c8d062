# SPDX-License-Identifier: MIT
"""`make batch COURSE= SUBMISSIONS=`: grade a class, also if something dies on the way;
the same command goes on where it ended. DRY=1 says who would be graded, and who not.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path

from grader.batch import class_tree, planning, roster, slurm, unpacked
from grader.batch.crew import Crew, LocalCrew
from grader.batch.planning import Files, Job, Refused
from grader.batch.queue import Queue, is_gone
from grader.batch.slurm import SlurmCrew
from grader.commands import batch_worker, submission
from grader.commands.batch_worker import LEASE, TIMED
from grader.commands.submission import Order
from grader.course.foreign import one_line
from grader.course.handed import inbox
from grader.course.handed.renewal import MANIFEST
from grader.course.offered import course_file
from grader.course.tasks import all_tasks
from grader.engine import results, schedule
from grader.engine.marks import hand_in
from grader.errors import GraderError
from grader.options import FRESH, JOBS, Arguments, Option, one_of, switch, text
from grader.report import terminal
from grader.runner.supervisor import orphans
from grader.toolchain.make import build_folder

EXAMPLE = "make batch COURSE=course.toml SUBMISSIONS=inbox/"
MOST_ENDED = 50  # processes that end one after the other, and no result comes
SUBMISSIONS = Option(
    "SUBMISSIONS", "a folder of submissions, or an archive of all", text
)
ROSTER = Option("ROSTER", "a CSV file, id,name", text)
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
    on_roster = roster.read(Path(named)) if (named := arguments[ROSTER]) else {}
    source = Path(arguments[SUBMISSIONS])
    if arguments[DRY]:
        students = [_say_plan(one) for one in _plan(order, source)]
        _tell_roster(on_roster, students)
        return 0
    submission.warn(order)
    folder = build_folder() / "batch" / order.made.name
    results.make_folder(folder)
    with Queue(folder, lease=arguments[LEASE] or batch_worker.LEASE_SECONDS) as queue:
        engine = _engine(arguments, queue)
        plan = _plan(order, source, timed=arguments[TIMED])
        run = _Run(order, queue, plan, fresh=arguments[FRESH])
        run.graded(engine)
    _tell_roster(on_roster, [*(job.student for job in run.jobs.values()), *run.missing])
    return submission.told_missing(run.missing, run.students)


def _engine(arguments: Arguments, queue: Queue) -> StartCrew:
    """What starts the processes that grade, here or in Slurm."""
    logs, place = queue.folder / "logs", {"CONVLAB_BUILD": str(build_folder())}
    command = [sys.executable, "-m", "grader", "batch_worker", f"FROM={queue.folder}"]
    command += [f"LEASE={queue.lease:g}"]
    place["JOBS"] = "1"
    if arguments[ENGINE] == "local":
        if arguments[SBATCH] or arguments[TIMED]:
            raise GraderError("SBATCH= and TIMED= need ENGINE=slurm")
        slots = arguments[JOBS] or schedule.slots()
        return lambda jobs: LocalCrew(command, place, logs, min(slots, jobs))
    slurm.end(slurm.job_name(logs))  # tasks of a command that was killed
    command += ["OWN_DISK=1"]
    tasks, words = arguments[JOBS] or slurm.TASKS, arguments[SBATCH].split()
    if arguments[TIMED]:
        command, words = [*command, "TIMED=1"], [*slurm.ALONE, *words]
        place["JOBS"] = ""  # all cores of the node
    return lambda jobs: SlurmCrew(command, place, logs, min(tasks, jobs), words)


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
        self.missing: dict[str, str] = {}  # student -> why there are no points
        key = _grader(order)
        for one in plan:
            if isinstance(one, Refused):
                self._missing(one.student, one.why)
            else:
                self.jobs[one[0].id] = one[0]
                queue.add(one[0].id, {"student": one[0].student}, one[1])
        self.students = len(self.jobs) + len(self.missing)
        queue.only(self.jobs, fresh=fresh)
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
            job = self.jobs[id_]
            if why := result.get("why"):
                self._missing(job.student, why)
                continue
            found = submission.keep(
                job.student, job.laid, result["results"], result["page"], self.order
            )
            submission.tell(job.student, found)
        return len(waits) < before

    def _missing(self, student: str, why: str) -> None:
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


def _plan(
    order: Order, source: Path, *, timed: bool = False
) -> Iterator[tuple[Job, Files] | Refused]:
    """Each student, one after the other."""
    key = f"{_grader(order)}{' timed' if timed else ''}"
    with _inbox(source) as folder:
        found = inbox.students(folder, "SUBMISSIONS=")
        taken = partial(hand_in.taken, tree=order.tree, made=order.made)
        yield from planning.planned(found, taken, key)


def _tell_roster(on_roster: Mapping[str, str], students: Collection[str]) -> None:
    for who in roster.nothing(on_roster, students):
        terminal.say(f"handed in nothing: {one_line(who)}")
    for who in roster.strange(on_roster, students):
        terminal.say(f"not in ROSTER=: {one_line(who)}")


@contextlib.contextmanager
def _inbox(source: Path) -> Iterator[Path]:
    """The folder of the submissions; an archive is unpacked for so long."""
    if not source.is_file():
        yield source
        return
    with tempfile.TemporaryDirectory() as place:
        labs = {task.lab for task in all_tasks()}
        folder, left = unpacked.unpacked(source, Path(place), labs)
        for path in left:
            terminal.say(f"left out of {one_line(source.name)}: {one_line(path)}")
        yield folder


def _grader(order: Order) -> str:
    """What stands for all that gives the verdicts: handout, course, hidden cases."""
    hidden = {name: list(lines) for name, lines in order.wanted.hidden.cases.items()}
    words = course_file.for_grading(order.wanted), json.dumps(hidden, default=str)
    whole = "\0".join((*words, (order.tree / MANIFEST).read_text(encoding="utf-8")))
    return hashlib.sha256(whole.encode()).hexdigest()


def _say_plan(one: tuple[Job, Files] | Refused) -> str:
    """Say what a dry run says of a student, and who it is."""
    if isinstance(one, Refused):
        why = one_line(one.why)
        terminal.say(f"cannot be graded: {one_line(one.student)}: {why}")
        return one.student
    tasks = ", ".join(one[0].laid.written) or "nothing is written"
    terminal.say(f"to grade: {one_line(one[0].student)}: {tasks}")
    return one[0].student
