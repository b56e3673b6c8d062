# SPDX-License-Identifier: MIT
"""Rungs in CUDA, graded without a GPU: each mistake gets its verdict and its line.

One grading of a ladder with a right file and one file for each mistake, each of them
the right one with an edit; the line that the report must name says HERE.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterable
from typing import Any

import convlab
import jsonschema
import pytest
import torch

from grader.commands import debug
from grader.course import architectures
from grader.engine.results import SCHEMA_FILE
from grader.errors import GraderError
from grader.toolchain import nvcc
from tests import put, some
from tests.grader.engine.test_grade import Tree, copy_of_the_repository

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
        [(TAIL, ""), (STORE, TURNED.replace("SYNC", "if (i < 9) __syncthreads();"))],
        "RACE",
        "",
    ),
    "06_unchecked": (
        [(LAUNCH, "    // HERE is the line below\n" + LAUNCH), (TRY, "")],
        "WRONG_CONTRACT",
        "CUDA_TRY(ctx, cudaGetLastError())",
    ),
    "07_writes_input": (
        [(STORE, STORE + "    const_cast<real *>(input)[i] = 0;\n")],
        "MEMORY_ERROR",
        "wrote to its input 'input'",
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
        "forward moves too much: ",
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
        "met in different __syncthreads",
    ),
    "14_leak": (
        [(LAUNCH, "    void *mine;\n    cudaMalloc(&mine, 100);  // HERE\n" + LAUNCH)],
        "MEMORY_ERROR",
        "device memory that it never frees",
    ),
    "15_for_a_card": (
        [(TAIL, TAIL + '    asm volatile("membar.gl;");\n')],
        "PENDING_GPU",
        "needs a GPU: cusim cannot run this rung; it is for sm_80, sm_90a, and no nvcc",
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
        "uses index 3 of an array 'float [3]', which has no such element",
    ),
    "12_looks_for_cusim": (
        [('#include "launch.h"', '#include "launch.h"\n#ifdef __CUSIM__\n#endif')],
        "FORBIDDEN",
        "the same in every build",
    ),
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
    known = tuple(f'[rung."gelu/{name}"' for name in names)
    head, *entries = re.split(r"^(?=\[rung)", LAB, flags=re.MULTILINE)
    entries = [entry for entry in entries if entry.startswith(known)]
    put(folder.parent / "lab.toml", head + "".join(entries))
    for name in names:
        put(folder / f"{name}.cu", text_of(name))
    environment = {"NVCC": "none", "CI": "", **environment}
    done = made.run("grade", LADDER, timeout=600, **environment)
    assert "Traceback" not in done.stdout + done.stderr, done
    assert made.results_file.exists(), done
    return made


@pytest.fixture(scope="module")
def graded(tools, tmp_path_factory) -> Tree:
    """The ladder of all files, graded once."""
    made = copy_of_the_repository(tmp_path_factory.mktemp("cuda"), tools)
    return graded_ladder(made, FILES)


def failed(tree: Tree, name: str) -> dict[str, Any]:
    """The first check of a file that did not pass; {} if all did."""
    checks = rung_in(tree, name)["checks"]
    assert checks
    return next((check for check in checks if check["verdict"] != "PASS"), {})


@pytest.mark.parametrize("name", FILES)
def test_a_file_gets_the_verdict_of_its_mistake(graded, name):
    _, verdict, words = FILES[name]
    found = failed(graded, name)
    assert found.get("verdict", "PASS") == verdict, found
    assert words in found.get("message", ""), found


@pytest.mark.parametrize("name", [n for n in FILES if "HERE" in text_of(n)])
def test_the_line_of_the_mistake_is_named(graded, name):
    if not (found := failed(graded, name)):
        return  # the right one of two
    lines = text_of(name).splitlines()
    number = next(i for i, line in enumerate(lines, 1) if "HERE" in line)
    number += "below" in lines[number - 1]
    place = f"{name}.cu:{number}"
    if found["verdict"] == "RACE":  # two lines: the message names both
        assert place in found["message"]
    else:
        assert found["location"] == f"labs/{LADDER}/{place}"


CLANG_TOO = some(  # the first is right
    [
        *("00_right", "01_wrong_value", "02_past_the_end"),
        *("03_no_barrier", "06_unchecked", "09_strided"),
    ],
    every=3,
)


@pytest.mark.skipif(not shutil.which("clang++"), reason="there is no clang++")
def test_clang_builds_them_and_gives_the_same_verdicts(tools, tmp_path_factory):
    made = copy_of_the_repository(tmp_path_factory.mktemp("clang"), tools)
    made = graded_ladder(made, CLANG_TOO, CXX="clang++")
    found = {name: failed(made, name).get("verdict", "PASS") for name in CLANG_TOO}
    assert found == {name: FILES[name][1] for name in CLANG_TOO}
    folder = made.root / "build/rungs"
    for mode in ("run", "check", "trace"):
        (file,) = (folder / f"cuda-{mode}/{LADDER}").glob("00_right.f32.so")
        said = subprocess.run(["readelf", "-p", ".comment", file], capture_output=True)
        assert b"clang" in said.stdout, said.stdout
        assert (made.root / "build/cusim/runtime" / f"clang++-{mode}").is_dir()


def test_the_results_fit_their_schema_and_nvcc_is_said_to_be_missing(graded):
    graded.run("grade", f"{LADDER}/00", NVCC="none", CI="")  # others grade here too
    jsonschema.validate(graded.results, json.loads(SCHEMA_FILE.read_text()))
    rung = graded.task(LADDER)["rungs"][0]
    assert rung["nvcc"]["verdict"] == "SKIPPED"
    assert rung["nvcc"]["message"] == nvcc.NONE_HERE


def test_speed_points_wait_for_a_gpu(graded):
    task = graded.task(LADDER)
    (speed,) = [s for rung in task["rungs"] for s in rung["speed"]]
    assert speed["verdict"] == "PENDING_GPU"
    assert "GPU" in speed["message"]
    assert (task["points"], task["pending"]) == (1.5, 0.5)


# ---- rungs for a card ----------------------------------------------------------------


CARD = "15_for_a_card"


def test_a_rung_for_a_card_is_not_built_and_neither_gives_nor_takes_points(graded):
    done = graded.run("grade", f"{LADDER}/15", NVCC="none", CI="")
    assert done.returncode == 0, done.stdout + done.stderr
    checks = rung_in(graded, CARD)["checks"]
    assert [check["verdict"] for check in checks] == ["PENDING_GPU"] * 2
    assert not list((graded.root / "build/rungs").rglob(f"{CARD}*"))
    done = graded.run("build", f"{LADDER}/15")
    assert done.returncode == 0 and "needs a GPU" in done.stdout


# ---- in a notebook, in a debugger ----------------------------------------------------


def test_a_loaded_rung_is_differentiable_and_takes_any_strides():
    add = convlab.load("04_cuda_kernels/add/00_strided")
    wide = {"dtype": torch.float64, "requires_grad": True}
    one = torch.randn(3, 4, **wide)
    other = torch.randn(4, 6, **wide)
    torch.testing.assert_close(add(one, other[:, :3].T), one + other[:, :3].T)
    torch.autograd.gradcheck(lambda a, b: add(a, b[:, :1].T, alpha=2), (one, other))


def test_gdb_is_told_which_thread_of_which_block():
    assert [debug.place(words) for words in ("3", "3,1")] == [(3,), (3, 1)]
    with pytest.raises(GraderError, match="expected x, x,y or x,y,z"):
        debug.place("3,-1")


# ---- nvcc ----------------------------------------------------------------------------


@pytest.mark.skipif(not shutil.which(nvcc.find() or "nvcc"), reason="there is no nvcc")
def test_nvcc_takes_the_right_file_and_tells_of_its_kernels(graded):
    done = graded.run("grade", f"{LADDER}/00", "--check", "forward")
    rung = graded.task(LADDER)["rungs"][0]
    assert rung["nvcc"]["verdict"] == "PASS", done.stdout
    kernels = {(k["name"], k["architecture"]) for k in rung["nvcc"]["kernels"]}
    assert {("gelu_kernel", name) for name in architectures.ARCHITECTURES} <= kernels


@pytest.mark.skipif(not shutil.which(nvcc.find() or "nvcc"), reason="there is no nvcc")
def test_nvcc_compiles_a_rung_for_a_card_for_its_architectures(graded):
    done = graded.run("grade", f"{LADDER}/15")
    assert "NVIDIA's compiler takes it (sm_80, sm_90a)" in done.stdout
    kernels = rung_in(graded, CARD)["nvcc"]["kernels"]
    assert {kernel["architecture"] for kernel in kernels} == {"sm_80", "sm_90a"}
    file = graded.root / "labs" / LADDER / f"{CARD}.cu"
    file.write_text(text_of("10_compile_error"))
    done = graded.run("grade", f"{LADDER}/15")
    file.write_text(text_of(CARD))
    checks = rung_in(graded, CARD)["checks"]
    assert [check["verdict"] for check in checks] == ["BUILD"] * 2
    assert done.returncode == 1 and "outptu" in done.stdout
