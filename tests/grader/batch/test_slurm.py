# SPDX-License-Identifier: MIT
"""A class that a Slurm of this machine grades, and whose nodes die."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grader.batch import slurm
from grader.batch.slurm import SlurmCrew
from grader.engine.marks import desk
from grader.errors import GraderError
from grader.runner.supervisor import cores
from tests import put
from tests.grader.batch import cluster
from tests.grader.batch.cluster import Cluster, until
from tests.grader.batch.test_killed_batch import COURSE, SECONDS, Class

STUDENTS = ("right", "crash", "wrong_value", "no_tanh", "no_grad_output")
needs_slurm = pytest.mark.skipif(bool(cluster.missing()), reason=cluster.missing())


@pytest.fixture
def nodes(monkeypatch) -> Iterator[Cluster]:
    """A cluster, whose commands this process finds."""
    monkeypatch.setattr(slurm, "POLL", 0.5)
    os.sched_setaffinity(0, set(cores.given()) | os.sched_getaffinity(1))
    with cluster.running() as made:
        for name, value in made.environment.items():
            monkeypatch.setenv(name, value)
        yield made


@pytest.fixture
def crew(nodes, tmp_path) -> Callable[..., SlurmCrew]:
    """Tasks that run a line of the shell."""

    def made(line: str, count: int = 1, *words: str) -> SlurmCrew:
        logs = tmp_path / "batch" / "logs"
        return SlurmCrew(["sh", "-c", line], {}, logs, count, words)

    return made


def states(nodes: Cluster) -> list[str]:
    """Of the tasks that wait or run."""
    return nodes.ask("squeue --noheader --array --format=%T").split()


def tended(crew: SlurmCrew, true: Callable[[], bool]) -> int:
    """How many have failed until something is true."""
    failed = 0

    def look() -> bool:
        nonlocal failed
        failed += crew.tend()
        return true()

    until(look)
    return failed


@needs_slurm
def test_a_task_that_fails_is_submitted_again_and_one_that_is_done_is_not(
    crew, nodes, tmp_path
):
    starts = tmp_path / "starts"
    line = f"echo x >> {starts}; echo one more; [ $(wc -l < {starts}) = 3 ]"
    with crew(line) as made:
        assert tended(made, lambda: starts.exists() and starts.stat().st_size == 6) == 2
        until(lambda: not states(nodes))
        time.sleep(1)
        assert made.tend() == 0 and made.last_words() == "one more"
    assert starts.stat().st_size == 6


@needs_slurm
def test_an_end_is_an_end_for_tasks_that_run_and_wait(crew, nodes, tmp_path):
    ready, ended = put(tmp_path / "ready"), put(tmp_path / "ended")
    trap = f"trap 'echo x >> {ended}; exit' TERM"
    with crew(f"{trap}; echo x >> {ready}; sleep 60 & wait", 6) as made:
        tended(made, lambda: ready.read_text() == "x\n" * 4)
        assert states(nodes).count("PENDING") == 2
    until(lambda: not states(nodes))
    assert ended.read_text() == "x\n" * 4


@needs_slurm
def test_a_command_that_was_killed_leaves_tasks_that_the_next_one_ends(crew, nodes):
    made = crew("sleep 60")
    tended(made, lambda: "RUNNING" in states(nodes))
    other = Path("/elsewhere/batch/logs")
    slurm.end(slurm.job_name(other))
    assert states(nodes)
    slurm.end(made.name)
    until(lambda: not states(nodes))
    with pytest.raises(GraderError, match="of Slurm was cancelled; run the same"):
        tended(made, lambda: False)


@needs_slurm
def test_what_sbatch_says_of_its_options_is_told(crew):
    with (
        crew("true", 1, "--partition=none") as made,
        pytest.raises(GraderError, match=r"Slurm: .* Invalid partition name"),
    ):
        made.tend()


@needs_slurm
def test_sbatch_gets_the_options_of_an_instructor(crew, tmp_path):
    line = "echo $SLURM_JOB_PARTITION $CUDA_VISIBLE_DEVICES $(hostname)"
    with crew(line, 1, "--partition=timing", "--gres=gpu:1") as made:
        tended(made, lambda: made.last_words() != "nothing")
        assert made.last_words() == "timing 0 two"


def test_without_slurm_a_sentence_says_so(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(GraderError, match="there is no scancel on this machine"):
        slurm.end("convlab")


def graded_on(school: Class, node: str) -> list[str]:
    """The jobs that a node has now, without a result."""
    found = []
    for file in (school.jobs() / "leases").glob("[!.]*"):
        with contextlib.suppress(FileNotFoundError):
            found += [file.stem] if file.read_text().startswith(f"{node}-") else []
    return [job for job in found if not result(school, job).exists()]


def result(school: Class, job: str) -> Path:
    """Where the result of a job is put."""
    return school.jobs() / "results" / f"{job}.json"


def stopped_job(school: Class, nodes: Cluster, node: str) -> str:
    """A job that a node cannot finish: the node has it, and stands still."""
    while True:
        until(lambda: graded_on(school, node), SECONDS)
        nodes.stop(node)
        if found := graded_on(school, node):
            return found[0]
        nodes.go_on(node)  # it had just finished


@needs_slurm
def test_a_class_is_graded_although_a_node_dies(tmp_path, nodes):
    school = Class(tmp_path, nodes.environment)
    school.hand_in(STUDENTS)
    quiet = school.batch("quiet")
    said = quiet.communicate(timeout=SECONDS)[0]
    assert "6 of 7 students were graded" in said, said
    wanted = school.found("quiet")
    for part in ("results", "jobs"):
        shutil.rmtree(school.jobs() / part)

    words = {"ENGINE": "slurm", "JOBS": "3"}
    main = school.batch("loud", **words)
    lost = stopped_job(school, nodes, "one")
    nodes.power_off("one")
    until(
        lambda: lost in graded_on(school, "two") or result(school, lost).exists(),
        SECONDS,
    )  # it is taken again
    main.send_signal(signal.SIGINT)
    said = main.communicate(timeout=SECONDS)[0]
    assert main.returncode == 130 and "run the same command again" in said, said
    assert "RUNNING" not in states(nodes)

    main = school.batch("loud", **words, SBATCH="--partition=timing --gres=gpu:1")
    said = main.communicate(timeout=SECONDS)[0]
    assert "6 of 7 students were graded" in said, said
    assert school.found("loud") == wanted
    assert len(list((school.jobs() / "results").iterdir())) == 6


@needs_slurm
def test_speed_is_measured_on_a_node_alone(tmp_path, nodes):
    school = Class(tmp_path, nodes.environment)
    put(school.course, COURSE.replace("title", "speed = true\ntitle", 1))
    school.hand_in(["right"])
    words = {"ENGINE": "slurm", "TIMED": "1", "SPEED": "on"}
    main = school.batch("desk", **words, SBATCH="--partition=timing")
    running = "squeue --noheader --states=RUNNING --format='%P: %C cores'"
    until(lambda: nodes.ask(running).strip() == "timing: 2 cores", SECONDS)
    said = main.communicate(timeout=SECONDS)[0]
    assert "2 of 3 students were graded" in said, said
    record = desk.everybody(school.home / "desk" / "tiny")["right"]
    (task,) = record.results["tasks"]
    assert [rung["id"] for rung in task["rungs"] if rung["speed"]]
