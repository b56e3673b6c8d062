# SPDX-License-Identifier: MIT
"""The lists of mutations are what their draws give, and each survivor is argued. Does
the grader see one changed token of a CUDA rung, or in the ladders of five more
operators? A sample of the drawn ones.

`python -m tests.proofs.stress mutations --lab 04` and `--lab 03` grade all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

from grader.engine.grade import new_seed
from tests import ROOT, put
from tests.proofs.mutations import (
    draw,
    draw_all,
    draw_cuda,
    draw_ladders,
    draw_more,
    draw_views,
    run,
    run_all,
    run_cuda,
    run_ladders,
    run_more,
    run_views,
)
from tests.proofs.mutations.cuda_tokens import CudaFile
from tests.proofs.mutations.draw import Mutation, changed
from tests.proofs.mutations.draw_cuda import KINDS, kind_of
from tests.proofs.mutations.fingerprint import fingerprint
from tests.proofs.mutations.frame import Outcome, Proof

CUDA, CUDA_HASHES = draw_cuda.committed()
LADDERS, _ = draw_ladders.committed()
KIND = {mutation.id: kind_of(mutation) for mutation in CUDA}
FOLDERS = sorted({"/".join(m.file.split("/")[1:3]) for m in LADDERS})
KERNEL = """#include "launch.h"
enum { THREADS = 64, STAGES = 3 };
static __global__ void turn(real *output, int64_t COUNT, int64_t K)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= COUNT) return;
    ptx::cp_async_wait<STAGES - 2>();
    __syncthreads();  // a comment, __syncthreads(); in it
    output[i] = __shfl_down_sync(0xffffffffu, output[i], 16);
}
"""


@dataclass(frozen=True)
class Drawn:
    """One list, and the last run over it."""

    lab: str  # that `make stress` calls it by
    proof: Proof
    module: str  # that draws
    file: Path  # what it wrote
    record: Callable[[], str]  # what it would write

    def __str__(self) -> str:
        return self.lab


LISTS = (
    Drawn(
        "04",
        run_cuda.PROOF,
        "draw_cuda",
        draw_cuda.DRAWN,
        lambda: draw_cuda.record([ROOT / name for name in CUDA_HASHES]),
    ),
    Drawn(
        "03", run_ladders.PROOF, "draw_ladders", draw_ladders.DRAWN, draw_ladders.record
    ),
    Drawn("all", run_all.PROOF, "draw_all", draw_all.DRAWN, draw_all.record),
    Drawn("02", run.PROOF, "draw", draw.DRAWN, draw.record),
    Drawn("views", run_views.PROOF, "draw_views", draw_views.DRAWN, draw_views.record),
    Drawn("more", run_more.PROOF, "draw_more", draw_more.DRAWN, draw_more.record),
)
LAST_IN_CUDA, LAST = run_cuda.PROOF.read(), run_ladders.PROOF.read()
each_list = pytest.mark.parametrize("drawn", LISTS, ids=str)


def soonest(found: Iterable[Outcome]) -> Mutation:
    """Of those that were caught the one that was caught soonest."""
    caught = [outcome for outcome in found if outcome.caught]
    return min(caught, key=lambda outcome: outcome.seconds).mutation


SAMPLE = [  # of three kinds, and of every third ladder
    *(
        (run_cuda.PROOF, soonest(o for o in LAST_IN_CUDA if o.kind == kind))
        for kind in ("barrier", "predicate", "name")
    ),
    *(
        (run_ladders.PROOF, soonest(o for o in LAST if folder in o.mutation.file))
        for folder in FOLDERS[::3]
    ),
]


@each_list
def test_the_list_is_what_the_draw_gives(drawn: Drawn) -> None:
    assert not changed(drawn.proof.committed()[1]), (
        "changed since the draw; draw and run again: "
        f"python -m tests.proofs.mutations.{drawn.module}; commit; "
        f"python -m tests.proofs.stress mutations --lab {drawn.lab}"
    )
    assert drawn.file.read_text() == drawn.record()


C = """/* 00 plain */
int f(int /* a count */ n)
{
    return n + 1;  // one more
}
"""
PYTHON = '''"""00 plain."""
def f(n):
    """One more."""
    return n + 1  # one more
'''


@pytest.mark.parametrize(
    ("name", "text", "old", "new", "same"),
    [
        ("a.cu", C, "// one more", "// the next number", True),
        ("a.cu", C, "00 plain", "00 simple", True),
        ("a.cu", C, "/* a count */", "/* numbers */", True),
        ("a.cu", C, "/* a count */", "/* a number */", False),  # n stands elsewhere
        ("a.cu", C, "  // one more", "  // one\n    // more", False),  # and } here
        ("a.cu", C, "n + 1", "n + 2", False),
        ("a.py", PYTHON, "# one more", "# the next number", True),
        ("a.py", PYTHON, "One more.", "The next number.", True),
        ("a.py", PYTHON, "One more.", "One more,\n    never less.", False),
        ("a.py", PYTHON, "n + 1", "n + 2", False),
    ],
)
def test_a_comment_edited_in_place_needs_no_new_draw(
    tmp_path: Path, name: str, text: str, old: str, new: str, *, same: bool
) -> None:
    assert text.count(old) == 1
    before = fingerprint(put(tmp_path / name, text))
    after = fingerprint(put(tmp_path / name, text.replace(old, new)))
    assert (before == after) is same


@each_list
def test_every_survivor_of_the_last_run_is_argued(drawn: Drawn) -> None:
    last = drawn.proof.read()
    assert [outcome.mutation for outcome in last] == drawn.proof.committed()[0]
    survived = {outcome.mutation.id for outcome in last if not outcome.caught}
    assert survived == set(drawn.proof.argued())


def test_60_are_drawn_in_cuda_and_8_of_them_are_barriers_that_are_dropped() -> None:
    assert len(CUDA) == sum(KINDS.values()) == 60
    assert sum(kind in ("barrier", "wait") for kind in KIND.values()) >= 8


def test_120_are_drawn_in_ten_ladders() -> None:
    assert len(LADDERS) == 120 and len(FOLDERS) == 10


@pytest.mark.parametrize(
    ("proof", "mutation"), [pytest.param(*words, id=words[1].id) for words in SAMPLE]
)
@pytest.mark.usefixtures("tools")
def test_a_changed_token_is_seen(
    proof: Proof, mutation: Mutation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NVCC", "none")
    outcome = proof.grade(mutation, new_seed())
    assert outcome.caught, outcome


def test_what_a_token_of_a_kernel_may_become() -> None:
    found = {(t.text, t.line): t.choices for t in CudaFile(KERNEL).eligible()}
    right = {
        ("ptx::cp_async_wait<STAGES - 2>();", 7): (";",),
        ("__syncthreads();", 8): (";",),
        ("(", 6): ("(false && ",),
        ("COUNT", 6): ("K", "STAGES", "THREADS"),
        ("0xffffffffu", 9): ("0x7fffffffu",),
        ("x", 5): ("y",),
    }
    assert {token: found[token] for token in right} == right
    assert ("i", 5) not in found, "declared there"
    assert ("<", 7) not in found, "a bracket of a template"
