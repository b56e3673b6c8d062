# SPDX-License-Identifier: MIT
"""A ladder of gelu in CUDA: a right file, and one for each mistake.

Each of them is the right one with an edit; the line that a report must name says HERE.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from tests import put
from tests.grader.engine.test_grade import Tree

LADDER = "04_cuda_kernels/gelu"
RIGHT = """#include "launch.h"

enum { THREADS = 64 };

static __device__ accum gelu(accum x, int64_t approximate)
{
    const accum root = (accum)0.7978845608028654;
    const accum inner = root * (x + (accum)0.044715 * x * x * x);
    if (approximate == GELU_TANH) return x / 2 * (1 + real_tanh(inner));
    return x / 2 * (1 + real_erf(x * (accum)0.70710678118654752));
}

static __global__ void gelu_kernel(const real *input, int64_t approximate,
                                   real *output, int64_t COUNT)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= COUNT) return;
    output[i] = real_from(gelu(accum_from(input[i]), approximate));
}

extern "C" status_t gelu_forward(ctx_t *ctx, const tensor_t *input, gelu_params_t p,
                                 tensor_t *output)
{
    const int64_t COUNT = tensor_numel(input);
    if (COUNT == 0) return STATUS_OK;
    const real *dense = tensor_contiguous(ctx, input);
    if (!dense) return STATUS_NO_MEMORY;
    const unsigned blocks = grid_of(ceil_div(COUNT, THREADS));
    gelu_kernel<<<blocks, THREADS, 0, ctx->stream>>>(dense, p.approximate,
                                                     real_data(output), COUNT);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
}
"""
TAIL = "    if (i >= COUNT) return;\n"
STORE = "    output[i] = real_from(gelu(accum_from(input[i]), approximate));\n"
VALUE = "real_from(gelu(accum_from(input[i]), approximate))"
TURNED = f"""    __shared__ real tile[THREADS];
    const int64_t from = (int64_t)blockIdx.x * blockDim.x;
    const int64_t left = COUNT - from < THREADS ? COUNT - from : THREADS;
    if (i < COUNT) tile[threadIdx.x] = {VALUE};
    SYNC
    const int64_t other = left - 1 - threadIdx.x;
    if (i < COUNT) output[from + other] = tile[other];  // HERE
"""
TURNS = f"""    __shared__ real tile[THREADS];
    const int64_t from = (int64_t)blockIdx.x * blockDim.x;
    const int64_t left = COUNT - from < THREADS ? COUNT - from : THREADS;
    const int64_t other = left - 1 - threadIdx.x;
    real found = real_from(0);
    for (int turn = 0; turn < 2; turn++) {{
        if (i < COUNT) tile[threadIdx.x] = {VALUE};
        __syncthreads();
        if (i < COUNT) found = tile[other];  // HERE
    }}
    if (i < COUNT) output[from + other] = found;
"""
BANKS = f"""    __shared__ accum tile[THREADS * 32], easy[THREADS];
    easy[threadIdx.x] = 0;
    for (int turn = 0; turn < 40; turn++) easy[threadIdx.x] += (accum)turn;
    const int far = threadIdx.x * 32;
    tile[far] = accum_from({VALUE}), output[i] = real_from(tile[far]);  // HERE
"""
FOUR = """    accum far = 0;
    if (i + 8 < COUNT) far = ((const float4 *)(input + i / 4 * 4 + 1))->x;  // HERE
"""
LAUNCH = "    gelu_kernel<<<"
TRY = "    CUDA_TRY(ctx, cudaGetLastError());\n"

# file -> the edits that make it, its verdict, and words of its message
FILES: dict[str, tuple[list[tuple[str, str]], str, str]] = {
    "00_right": ([], "PASS", ""),
    "01_wrong_value": ([("0.044715", "0.044")], "WRONG_VALUE", "elements are wrong"),
    "02_past_the_end": (
        [(TAIL, TAIL.replace(">=", ">")), (STORE, STORE[:-1] + "  // HERE\n")],
        "MEMORY_ERROR",
        "past the end of 'input'",
    ),
    "03_no_barrier": (
        [(TAIL, ""), (STORE, TURNED.replace("SYNC", ";"))],
        "RACE",
        "__syncthreads() between the two accesses",
    ),
    "04_with_barrier": (
        [(TAIL, ""), (STORE, TURNED.replace("SYNC", "__syncthreads();"))],
        "PASS",
        "",
    ),
    "05_divergent": (
        [
            (TAIL, ""),
            (STORE, TURNED.replace("SYNC", "if (i < 9) __syncthreads();  // HERE")),
        ],
        "RACE",
        "threads of a warp skipped this barrier and left the kernel",
    ),
    "06_unchecked": (
        [(LAUNCH, "    // HERE is the line below\n" + LAUNCH), (TRY, "")],
        "WRONG_CONTRACT",
        "CUDA_TRY(ctx, cudaGetLastError())",
    ),
    "07_writes_input": (
        [(STORE, STORE + "    const_cast<real *>(input)[i] = 0;  // HERE\n")],
        "MEMORY_ERROR",
        "writes to its input 'input'",
    ),
    "08_host_pointer": (
        [
            ("int64_t approximate,\n", "const int64_t *approximate,\n"),
            (VALUE, "real_from(gelu(accum_from(input[i]), *approximate))"),
            ("(dense, p.approximate,", "(dense, &p.approximate,"),
            ("*approximate));\n", "*approximate));  // HERE\n"),
        ],
        "MEMORY_ERROR",
        "memory of the host",
    ),
    "09_strided": (
        [
            (TAIL, TAIL + "    const accum far = accum_from(input[i * 33 % COUNT]);\n"),
            ("% COUNT]);\n", "% COUNT]);  // HERE\n"),
            ("gelu(accum_from(input[i])", "gelu(accum_from(input[i]) + 0 * far"),
        ],
        "TRAFFIC",
        "of 'input' in gelu_kernel: 1,024 requests of 32 sectors each. At this line "
        "the threads of a warp move along the wrong axis: its stride is not 1. So",
    ),
    "10_compile_error": (
        [(STORE, STORE.replace("output[i]", "outptu[i]")[:-1] + "  // HERE\n")],
        "BUILD",
        "outptu",
    ),
    "11_inline_ptx": (
        [(TAIL, TAIL + '    asm volatile("membar.gl;");  // HERE\n')],
        "BUILD",
        "inline PTX is not run by cusim",
    ),
    "13_two_barriers": (
        [
            (TAIL, ""),
            (
                STORE,
                "    if (threadIdx.x < 32) __syncthreads();  // HERE\n"
                "    else { __syncthreads(); }\n    if (i < COUNT)\n" + STORE,
            ),
        ],
        "RACE",
        "wait at different __syncthreads",
    ),
    "14_leak": (
        [(LAUNCH, "    void *mine;\n    cudaMalloc(&mine, 100);  // HERE\n" + LAUNCH)],
        "MEMORY_ERROR",
        "device memory and never frees it",
    ),
    "15_for_a_card": (
        [(TAIL, TAIL + '    asm volatile("membar.gl;");\n')],
        "PENDING_GPU",
        "needs a GPU, because cusim cannot run this file; it is for sm_80, sm_90a",
    ),
    "16_ends_early": (
        [("if (i >= COUNT) return;", "if (i >= COUNT || i >= 30000) return;")],
        "INCOMPLETE",
        "2768 of 32768 elements of 'output' were never written",
    ),
    "17_local_array": (  # who reports it is UBSan, not cusim
        [
            (TAIL, TAIL + "    accum x[3];\n    for (int k = 0; k <= 3; k++)\n"),
            (STORE, "        x[k] = accum_from(input[i]);  // HERE\n" + STORE),
            ("gelu(accum_from(input[i])", "gelu(x[0]"),
        ],
        "MEMORY_ERROR",
        "uses index 3 of an array of type 'float [3]', which has no such element",
    ),
    "18_next_turn": (
        [(TAIL, ""), (STORE, TURNS)],
        "RACE",
        "stands at line 24, between the two lines. Does one access belong to the next "
        "iteration of the loop? Then put another __syncthreads() at the end of the",
    ),
    "19_two_write": (
        [
            (TAIL, f"{TAIL}    __shared__ real last;\n    last = input[i];  // HERE\n"),
            (VALUE, VALUE[:-1] + " + 0 * accum_from(last))"),
        ],
        "RACE",
        "give each word to one thread (is the index right?), or put a barrier between",
    ),
    "20_block_forgotten": (
        [
            ("(int64_t)blockIdx.x * blockDim.x + threadIdx.x", "threadIdx.x"),
            (STORE, STORE[:-1] + "  // HERE\n"),
        ],
        "RACE",
        "Give each element to one block (does the index contain blockIdx?)",
    ),
    "21_no_bounds_check": (
        [(TAIL, ""), (STORE, STORE[:-1] + "  // HERE\n")],
        "MEMORY_ERROR",
        "Threads past the end must not access memory: return early, or skip the access",
    ),
    "22_misaligned": (
        [(TAIL, TAIL + FOUR), (VALUE, VALUE[:-1] + " + 0 * far)")],
        "MEMORY_ERROR",
        "at an address that is not a multiple of 16. A tensor is aligned only",
    ),
    "23_banks": (
        [(STORE, BANKS)],
        "TRAFFIC",
        "wavefronts for each request of shared memory, the limit is 1.1",
    ),
    "24_scratch_is_null": (
        [("    if (!dense) return STATUS_NO_MEMORY;\n", "")],
        "MEMORY_ERROR",
        "ctx_scratch returned NULL for every request: return STATUS_NO_MEMORY if",
    ),
    "25_one_thread": (
        [
            (TAIL, "    if (i > 0) return;\n    for (int64_t k = 0; k < COUNT; k++)\n"),
            (STORE, f"    {STORE.replace('[i]', '[k]')[:-1]}  // HERE\n"),
        ],
        "TRAFFIC",
        "Only one thread of a warp works at this line",
    ),
    "12_looks_for_cusim": (
        [('#include "launch.h"', '#include "launch.h"\n#ifdef __CUSIM__\n#endif')],
        "FORBIDDEN",
        "the same in every build",
    ),
}

NAMES = {  # the others have none
    "01_wrong_value": "cubic_term_wrong",
    "02_past_the_end": "bounds_check_missing",
    "03_no_barrier": "barrier_missing",
    "09_strided": "warp_walks_wrong_axis",
    "18_next_turn": "barrier_missing",
    "20_block_forgotten": "blocks_share_an_element",
    "21_no_bounds_check": "bounds_check_missing",
}

LAB = """title = "CUDA"
language = "cuda"
[ladder.gelu]
points = 4
speed = { points = 1 }
[rung."gelu/09_strided".traffic]
forward = { case = "erf", global_sectors_per_request = 4.4 }
[rung."gelu/00_right".traffic]
forward = { case = "erf", global_sectors_per_request = 4.4, bytes = "1.1*8*COUNT" }
[rung."gelu/25_one_thread".traffic]
forward = { case = "erf", bytes = "1.1*8*COUNT" }
[rung."gelu/23_banks".traffic]
forward = { case = "erf", shared_wavefronts_per_request = 1.1 }
[rung."gelu/16_ends_early".traffic]
forward = { case = "erf", global_sectors_per_request = 4.4 }
[rung."gelu/15_for_a_card"]
architectures = ["sm_80", "sm_90a"]
needs = "gpu"
"""


def text_of(name: str) -> str:
    """The right file with its edits."""
    text = RIGHT
    for old, new in FILES[name][0]:
        assert old in text, (name, old)
        text = text.replace(old, new, 1)
    return text


def rung_in(tree: Tree, name: str) -> dict[str, Any]:
    """What was found of a file."""
    (found,) = [r for r in tree.task(LADDER)["rungs"] if r["id"] == f"{LADDER}/{name}"]
    return found


def graded_ladder(made: Tree, names: Iterable[str], **environment: str) -> Tree:
    """The tree with a ladder of these files, graded; only forward is written."""
    folder = made.root / "labs" / LADDER
    headers = tuple(f'[rung."gelu/{name}"' for name in names)
    head, *entries = re.split(r"^(?=\[rung)", LAB, flags=re.MULTILINE)
    entries = [entry for entry in entries if entry.startswith(headers)]
    put(folder.parent / "lab.toml", head + "".join(entries))
    for name in names:
        put(folder / f"{name}.cu", text_of(name))
    environment = {"NVCC": "none", "CI": "", "SEED": "7", **environment}
    done = made.run("grade", LADDER, timeout=600, **environment)
    assert "Traceback" not in done.stdout + done.stderr, done
    assert made.results_file.exists(), done
    return made


def failed(tree: Tree, name: str) -> dict[str, Any]:
    """The first check of a file that did not pass; {} if all did."""
    checks = rung_in(tree, name)["checks"]
    assert checks
    return next((check for check in checks if check["verdict"] != "PASS"), {})
