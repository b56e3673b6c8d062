# SPDX-License-Identifier: MIT
"""What right files of each lab give is written, read back, and kept by later runs."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from grader.course.tasks import select
from grader.engine import results
from grader.engine.answers import as_json
from grader.engine.grade import Grader
from grader.engine.merge import merged
from grader.engine.score import TaskResult
from grader.verdicts import Verdict

ONE_OF_EACH = (
    "01_python_function/add",
    "02_naive_c/add",
    "03_im2col_cpu/add",
    "04_cuda_kernels/add",  # with a check in half
    "05_torch_extension/add",  # with gates
)


def graded(name: str) -> TaskResult:
    with Grader(select(name), seed=5) as grader:
        (task,) = grader.run()
    return task


def test_a_run_of_another_task_keeps_what_every_lab_has_earned(
    tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [graded(name) for name in ONE_OF_EACH]
    monkeypatch.setenv("CONVLAB_BUILD", str(tmp_path))
    results.make_folder(results.folder())
    written = merged(found, seed=5)
    results.write(written)
    assert results.refusal() == ""
    whole = json.loads(results.path().read_text())
    jsonschema.validate(whole, json.loads(results.SCHEMA_FILE.read_text()))
    read = results.read()
    assert read and json.loads(json.dumps(as_json.results_entry(read))) == whole
    checks = [c for task in read.tasks for r in task.rungs for c in r.checks]
    waiting = Verdict.PASS, Verdict.PENDING_GPU, Verdict.SKIPPED  # for speed, for nvcc
    assert [c for c in checks if c.verdict not in waiting] == []
    # all is right; what is not earned is for speed, which waits
    assert all(task.points + task.pending == task.task.points for task in read.tasks)

    again = merged([found[1]], seed=6)
    assert [task.points for task in again.tasks] == [task.points for task in found]
    names = {c.name for task in again.tasks for r in task.rungs for c in r.checks}
    assert {"half", "opcheck", "vmap", "forward", "gradcheck", "traffic"} <= names
