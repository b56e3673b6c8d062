# SPDX-License-Identifier: MIT
"""What a key holds beside the file itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.course.tasks import all_tasks, select
from grader.engine import hints, results
from grader.engine.answers import keys
from grader.engine.graph import Graph, Linked
from grader.runner.supervisor import cores
from grader.toolchain.linking import Links

MATMUL = "04_cuda_kernels/matmul"
RUNGS = {rung.id: rung for task in all_tasks() for rung in task.rungs}


def key(wanted: str, rung: str, *linked: Linked) -> str:
    """The key of a rung's answer in a grading of what is wanted."""
    graph = Graph(select(wanted), Links(), None, None)
    return graph.key(graph.nodes[rung], list(linked))


def test_a_rung_that_is_graded_alone_has_another_answer_than_below_others() -> None:
    assert key(MATMUL, f"{MATMUL}/00_naive") != key(
        f"{MATMUL}/00", f"{MATMUL}/00_naive"
    )
    lowest = "03_im2col_cpu/matmul/00_ijk"
    assert key("03_im2col_cpu/matmul", lowest) == key(lowest, lowest)


def test_of_what_it_is_linked_with_only_what_is_right_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rung, other = "03_im2col_cpu/linear/00_matmul", RUNGS["03_im2col_cpu/matmul/00_ijk"]

    def both(*, right: bool) -> tuple[str, str]:
        before = key(rung, rung, (other, "forward", right))
        usual = keys.content
        with monkeypatch.context() as patch:
            changed = {other.id: "changed"}
            patch.setattr(keys, "content", lambda r: changed.get(r.id) or usual(r))
            return before, key(rung, rung, (other, "forward", right))

    assert len(set(both(right=True))) == 2 and len(set(both(right=False))) == 1
    assert both(right=True)[0] != both(right=False)[0]


def test_a_kernel_that_nobody_has_looked_at_counts_for_lab_05(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rung, other = "05_torch_extension/add/stable", RUNGS["03_im2col_cpu/add/00_plain"]
    before = key(rung, rung, (other, "forward", False))
    usual = keys.content
    changed = {other.id: "changed"}
    monkeypatch.setattr(keys, "content", lambda r: changed.get(r.id) or usual(r))
    assert key(rung, rung, (other, "forward", False)) != before


def test_a_hint_makes_a_new_question_of_an_exhibit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the ledger would answer with what it withheld before."""
    monkeypatch.setattr(results, "folder", lambda: tmp_path)
    rung = next(rung for rung in RUNGS.values() if rung.exhibit)
    before = key(rung.id, rung.id)
    hints.one_more(rung)
    assert hints.seen(rung) == 1 and key(rung.id, rung.id) != before


def test_times_hold_also_where_this_process_has_taken_a_core() -> None:
    before = keys.machine()
    cores.pin()
    assert keys.machine() == before
