# SPDX-License-Identifier: MIT
"""Rungs in CUDA, graded without a GPU: each mistake gets its verdict and its line."""

from __future__ import annotations

import json
import os
import shutil
import subprocess

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
from tests.conftest import needs_nvcc
from tests.grader.checks.cuda.gelu_ladder import (
    FILES,
    LADDER,
    NAMES,
    failed,
    graded_ladder,
    rung_in,
    text_of,
)
from tests.grader.engine.test_grade import Tree, copy_of_the_repository


@pytest.fixture(scope="module")
def graded(tools, tmp_path_factory) -> Tree:
    """The ladder of all files, graded once."""
    made = copy_of_the_repository(tmp_path_factory.mktemp("cuda"), tools)
    return graded_ladder(made, FILES)


@pytest.mark.parametrize("name", FILES)
def test_a_file_gets_the_verdict_of_its_mistake(graded, name):
    _, verdict, words = FILES[name]
    found = failed(graded, name)
    assert found.get("verdict", "PASS") == verdict, found
    assert words in found.get("message", ""), found


def test_what_a_message_tells_has_a_name_and_nothing_else(graded):
    found = {name: failed(graded, name).get("mistake") for name in FILES}
    assert {name: mistake for name, mistake in found.items() if mistake} == NAMES


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
    assert [check["verdict"] for check in checks] == ["PENDING_GPU"]
    assert not list((graded.root / "build/rungs").rglob(f"{CARD}*"))
    done = graded.run("build", f"{LADDER}/15")
    assert done.returncode == 0 and "needs a GPU" in done.stdout


CALLER = """#include "launch.h"

extern "C" gelu_forward_fn plain_forward;

extern "C" status_t gelu_forward(ctx_t *ctx, const tensor_t *input, gelu_params_t p,
                                 tensor_t *output)
{
    return plain_forward(ctx, input, p, output);
}
"""


def test_a_ladder_asked_alone_looks_at_the_rung_of_another_that_it_calls(graded):
    lab = graded.root / "labs" / "06_next"
    put(
        lab / "lab.toml",
        'title = "Next"\nlanguage = "cuda"\n[ladder.gelu]\npoints = 4\n'
        f'[rung."gelu/00_call"]\nuses.plain = "{LADDER}/00_right"\n',
    )
    put(lab / "gelu" / "00_call.cu", CALLER)
    done = graded.run("grade", "06_next/gelu", FRESH="1", JOBS="2")
    (found,) = graded.task("06_next/gelu")["rungs"]
    shutil.rmtree(lab)
    verdicts = [c["verdict"] for c in found["checks"] if c["direction"] == "forward"]
    assert verdicts and set(verdicts) <= {"PASS", "PENDING_GPU"}, done.stdout


# ---- in a notebook, in a debugger ----------------------------------------------------


def test_a_loaded_rung_is_differentiable_and_takes_any_strides():
    add = convlab.load("04_cuda_kernels/add/00_strided")
    wide = {"dtype": torch.float64, "requires_grad": True}
    one = torch.randn(3, 4, **wide)
    other = torch.randn(4, 6, **wide)
    torch.testing.assert_close(add(one, other[:, :3].T), one + other[:, :3].T)
    torch.autograd.gradcheck(lambda a, b: add(a, b[:, :1].T, alpha=2), (one, other))


def test_gdb_is_told_which_thread_of_which_block():
    assert [debug.place("THREAD", words) for words in ("3", "3,1")] == [(3,), (3, 1)]
    with pytest.raises(GraderError, match="expected one, two or three numbers"):
        debug.place("THREAD", "3,-1")


# ---- nvcc ----------------------------------------------------------------------------


@needs_nvcc
def test_nvcc_takes_the_right_file_and_tells_of_its_kernels(graded):
    done = graded.run("grade", f"{LADDER}/00", "CHECK=forward")
    rung = graded.task(LADDER)["rungs"][0]
    assert rung["nvcc"]["verdict"] == "PASS", done.stdout
    kernels = {(k["name"], k["architecture"]) for k in rung["nvcc"]["kernels"]}
    assert {("gelu_kernel", name) for name in architectures.ARCHITECTURES} <= kernels


@needs_nvcc
def test_nvcc_compiles_a_rung_for_a_card_for_its_architectures(graded):
    done = graded.run("grade", f"{LADDER}/15")
    assert "NVIDIA's compiler accepts it (sm_80, sm_90a)" in done.stdout
    kernels = rung_in(graded, CARD)["nvcc"]["kernels"]
    assert {kernel["architecture"] for kernel in kernels} == {"sm_80", "sm_90a"}
    file = graded.root / "labs" / LADDER / f"{CARD}.cu"
    file.write_text(text_of("10_compile_error"))
    done = graded.run("grade", f"{LADDER}/15")
    file.write_text(text_of(CARD))
    checks = rung_in(graded, CARD)["checks"]
    assert [check["verdict"] for check in checks] == ["BUILD"]
    assert done.returncode == 1 and "outptu" in done.stdout


@needs_nvcc
def test_nvcc_refuses_an_error_in_host_code_of_a_rung_for_a_card(graded):
    file = graded.root / "labs" / LADDER / f"{CARD}.cu"
    right = text_of(CARD)
    put(file, f"{right}\nint host_only(void) {{ return undeclared_name; }}\n")
    done = graded.run("grade", f"{LADDER}/15")
    put(file, right)
    checks = rung_in(graded, CARD)["checks"]
    assert [check["verdict"] for check in checks] == ["BUILD"]
    assert done.returncode == 1 and "undeclared_name" in done.stdout


@needs_nvcc
def test_both_compilers_see_a_header_of_the_ladder_and_its_changes(graded):
    folder = graded.root / "labs" / LADDER
    put(folder / "00_right.cu", f'#include "shared.h"\n{text_of("00_right")}')
    built = graded.build / "rungs" / "cuda-run" / LADDER / "00_right.f32.so"
    for name in ("first_kernel", "second_kernel"):
        put(folder / "shared.h", f"#define gelu_kernel {name}\n")
        os.utime(folder / "shared.h", (0, len(name)))  # an old date: its text counts
        graded.run("grade", f"{LADDER}/00", "CHECK=forward")
        rung = rung_in(graded, "00_right")
        kernels = {kernel["name"] for kernel in rung["nvcc"]["kernels"]}
        assert kernels & {"first_kernel", "second_kernel"} == {name}
        assert name.encode() in built.read_bytes()
    (folder / "shared.h").unlink()
    put(folder / "00_right.cu", text_of("00_right"))
