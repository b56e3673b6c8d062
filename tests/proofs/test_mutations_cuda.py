# SPDX-License-Identifier: MIT
"""Does the grader see one changed token of a CUDA rung? A sample of the drawn ones.

`python -m tests.proofs.stress mutations --lab 04` grades all of them.
"""

from __future__ import annotations

import pytest

from grader.engine.grade import new_seed
from tests import ROOT
from tests.proofs.mutations.cuda_tokens import CudaFile
from tests.proofs.mutations.draw import Mutation, changed
from tests.proofs.mutations.draw_cuda import DRAWN, KINDS, committed, kind_of, record
from tests.proofs.mutations.run_cuda import PROOF, grade

ALL, HASHES = committed()
KIND = {mutation.id: kind_of(mutation) for mutation in ALL}
LAST = PROOF.read()
CAUGHT = {o.mutation.id: o for o in LAST if o.caught}
SAMPLE = [  # one of each kind, of those that were found at once
    min(
        (m for m in ALL if KIND[m.id] == kind and m.id in CAUGHT),
        key=lambda m: CAUGHT[m.id].seconds,
        default=ALL[0],
    )
    for kind in ("barrier", "predicate", "name")
]
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


def test_the_list_is_what_the_draw_gives() -> None:
    assert not changed(HASHES), (
        "changed since the draw; draw and run again: "
        "python -m tests.proofs.mutations.draw_cuda; commit; "
        "python -m tests.proofs.stress mutations --lab 04"
    )
    assert DRAWN.read_text() == record([ROOT / name for name in HASHES])


def test_60_are_drawn_and_8_of_them_are_barriers_that_are_dropped() -> None:
    assert len(ALL) == sum(KINDS.values()) == 60
    assert sum(kind in ("barrier", "wait") for kind in KIND.values()) >= 8


def test_every_survivor_of_the_last_run_is_argued() -> None:
    assert [outcome.mutation for outcome in LAST] == ALL
    assert {o.mutation.id for o in LAST if not o.caught} == set(PROOF.argued())


@pytest.mark.parametrize("mutation", SAMPLE, ids=lambda m: m.id)
@pytest.mark.usefixtures("tools")
def test_a_changed_token_is_seen(
    mutation: Mutation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NVCC", "none")
    outcome = grade(mutation, new_seed())
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
