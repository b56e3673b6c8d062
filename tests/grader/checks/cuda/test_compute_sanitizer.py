# SPDX-License-Identifier: MIT
"""Reports of compute-sanitizer, in the forms of its manual, become verdicts."""

from __future__ import annotations

import pytest

from grader.checks.cuda import compute_sanitizer

PAST = """========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at add_kernel(tensor_t, float *, long)+0xb0 in 00_strided.cu:60
=========     by thread (63,0,0) in block (2,0,0)
=========     Access to 0x7f2a9800013c is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f2a98000040
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: add_forward in 00_strided.cu:99 [0x1234]
=========
========= ERROR SUMMARY: 1 error
"""
OLDER = """========= Invalid __shared__ read of size 4
=========     at 0x30 in /nowhere/02_shared_tile.cu:6:matmul_kernel(void)
=========     by thread (0,0,0) in block (0,0,0)
=========     Address 0x15551a800001 is misaligned
"""
RACE = """========= Error: Race reported between Write access at fetch()+0xf0 in\
 labs/04_cuda_kernels/matmul/02_shared_tile.cu:27
=========     and Read access at matmul_kernel(tensor_t)+0x280 in 02_shared_tile.cu:54 \
[4 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""
BARRIER = """========= Barrier error detected. Divergent thread(s) in block.
=========     at __syncthreads()+0x2c8 in sm_20_intrinsics.hpp:110
=========     by thread (16,0,0) in block (0,0,0)
=========         Device Frame: matmul_kernel(tensor_t)+0x3c0 in 02_shared_tile.cu:52
========= Barrier error detected. Divergent thread(s) in block.
=========     at matmul_kernel(tensor_t)+0x2c8
========= ERROR SUMMARY: 2 errors
"""
CALL = """========= Program hit cudaErrorInvalidValue (error 1) due to "invalid"\
 on CUDA API call to cudaLaunchKernel.
=========     Saved host backtrace up to driver entry point at error
========= ERROR SUMMARY: 1 error
"""
RUNGS = "labs/04_cuda_kernels"


@pytest.mark.parametrize(
    ("text", "operator", "verdict", "place", "words"),
    [
        (
            PAST,
            "add",
            "MEMORY_ERROR",
            f"{RUNGS}/add/00_strided.cu:60",
            "is 1 bytes after",
        ),
        (OLDER, "matmul", "MEMORY_ERROR", None, "misaligned"),
        (RACE, "matmul", "RACE", f"{RUNGS}/matmul/02_shared_tile.cu:27", "and Read"),
        (BARRIER, "matmul", "RACE", f"{RUNGS}/matmul/02_shared_tile.cu:52", "(16,0,0)"),
        (CALL, "matmul", "CRASH", None, "cudaErrorInvalidValue"),
    ],
)
def test_a_report_becomes_a_verdict_and_a_line(text, operator, verdict, place, words):
    found = compute_sanitizer.first(text, "plain", operator)
    assert found is not None
    assert (found.verdict, found.location) == (verdict, place)
    assert words in found.message


def test_a_clean_report_is_none_and_each_headline_is_one():
    clean = "========= COMPUTE-SANITIZER\nreturned status 0\n"
    clean += "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n"
    assert compute_sanitizer.first(clean, "plain", "add") is None
    assert len(compute_sanitizer.reports(BARRIER)) == 2
    assert (
        compute_sanitizer.reports(PAST)[0].thread == "thread (63,0,0) of block (2,0,0)"
    )
