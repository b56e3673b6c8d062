# SPDX-License-Identifier: MIT
"""`make debug`: gdb stops inside the case, its tensors are on disk, pdb for lab 01."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from grader import operators
from grader.commands import debug
from grader.errors import GraderError
from grader.toolchain.extension import package
from grader.toolchain.make import build_folder
from tests import ROOT
from tests.conftest import needs_gdb
from tests.labs.extension import FOLDER

CONV = "02_naive_c/conv2d/00"
CASE = "groups"  # N = 2, IC = 4, IH = 7, IW = 9, OC = 6, KH = 3, KW = 2
SEED = 5


@pytest.fixture
def command_for(tools, monkeypatch):
    """The command that does what `make debug` would do now, instead of doing it."""

    class Become(Exception):
        pass

    def become(command: list[str]) -> None:
        raise Become(command)

    def captured(wanted: str, case: str | None = CASE) -> list[str]:
        monkeypatch.setattr(debug, "_become", become)
        monkeypatch.setattr(
            debug, "_replay", lambda s: become([sys.executable, str(s)])
        )
        with pytest.raises(Become) as raised:
            debug.debug(wanted, case, SEED)
        return raised.value.args[0]

    return captured


def gdb(command: list[str], *commands: str) -> str:
    """What gdb prints for some commands after its start."""
    at = command.index("--args")
    extra = [word for one in commands for word in ("-ex", one)]
    done = subprocess.run(
        ["gdb", "-batch", *command[1:at], *extra, *command[at:]],
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.stdout + done.stderr


def saved(name: str, rung: str, case: str = CASE) -> np.ndarray:
    return np.load(build_folder() / "debug" / rung / case / f"{name}.npy")


# ---- C -------------------------------------------------------------------------------


@needs_gdb
@pytest.mark.parametrize(
    ("rung", "case", "commands", "words"),
    [
        pytest.param(
            CONV,
            CASE,
            ["print input->size", "print weight->size", "print p"],
            [
                "conv2d_forward (ctx=",
                "00_definition.c:",
                "{2, 4, 7, 9, 0, 0}",
                "{6, 2, 3, 2, 0, 0}",
                "groups = 2",
            ],
            id="sizes_and_options_in_forward",
        ),
        pytest.param(
            CONV,
            CASE,
            ["continue", "continue"],
            ["conv2d_backward (ctx=", "returned status 0"],
            id="backward_next_and_the_status",
        ),
        pytest.param(
            "02_naive_c/subm_conv3d/01",
            operators.get("subm_conv3d").cases(SEED)[0].name,
            ["print grad_output->size"],
            ["subm_conv3d_backward (ctx="],
            id="a_rung_of_one_direction",
        ),
        pytest.param(
            "02_naive_c/gelu/00",
            "erf",
            ["next", "info locals"],
            ["gelu_forward"],
            id="every_variable",
        ),
    ],
)
def test_gdb_stops_in_the_operator_and_shows(command_for, rung, case, commands, words):
    printed = gdb(command_for(rung, case), *commands)
    assert [word for word in words if word not in printed] == [], printed
    assert "optimized out" not in printed


@needs_gdb
def test_gdb_shows_the_case_s_numbers(command_for):
    printed = gdb(command_for(CONV), "print ((double *)input->data)[5]")
    first = saved("input", "02_naive_c/conv2d/00_definition").flatten()[5]
    assert f"{first:.12g}" in printed


@needs_gdb
@pytest.mark.parametrize(("case", "step"), [("channels", 1), ("saved_with_gaps", 2)])
def test_a_file_of_backward_alone_is_given_what_forward_saves(command_for, case, step):
    command = command_for("02_naive_c/subm_conv3d/01", case)
    middle = f"((long *)count->data)[4 * {step}]"  # each point is its own neighbour
    printed = gdb(command, "print count->stride[0]", f"print {middle}")
    assert f"$1 = {step}\n$2 = 60\n" in printed


@needs_gdb
@pytest.mark.parametrize("name", ["input", "weight", "bias", "grad_output"])
def test_the_tensors_of_the_case_are_on_disk(command_for, name):
    command_for(CONV)
    operator = operators.get("conv2d")
    case = next(c for c in operator.cases(SEED) if c.name == CASE)
    inputs = operator.inputs(case, torch.float64, SEED)
    outputs = operator.outputs(inputs, case)
    grads = operator.grad_outputs(case, outputs, torch.float64, SEED)
    right = {**inputs, "grad_output": grads[0]}[name]
    got = saved(name, "02_naive_c/conv2d/00_definition")
    assert np.array_equal(got, right.numpy())


def test_a_machine_without_gdb_is_told(tools, monkeypatch):
    monkeypatch.setattr(debug.shutil, "which", lambda _: None)
    with pytest.raises(GraderError, match="gdb is not installed"):
        debug.debug(CONV, CASE, SEED)


# ---- choosing ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "case", "words"),
    [
        (
            "02_naive_c/conv2d",
            None,
            "matches 2 rungs, name one of them: 02_naive_c/conv2d",
        ),
        (None, None, "name one rung: make debug T="),
        (CONV, "gruops", "no case 'gruops'; the cases are: plain, groups"),
    ],
    ids=["more_than_one_rung", "no_rung", "an_unknown_case"],
)
def test_a_choice_that_is_none_is_told(wanted, case, words):
    with pytest.raises(GraderError, match=words):
        debug.debug(wanted, case, SEED)


# ---- Python --------------------------------------------------------------------------


def pdb(command: list[str], words: str, **environment: str) -> str:
    """What pdb prints for some words, and the program after them."""
    done = subprocess.run(
        command,
        input=f"{words}\nc\n",
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_file_of_lab_01_runs_under_pdb(command_for):
    command = command_for("01_python_function/linear", "small")
    assert Path(command[1]).name == "replay.py"
    said = pdb(command, "p inputs['weight'].shape, arguments[2].requires_grad")
    assert "(torch.Size([5, 4]), True)" in said
    assert "output (3, 5)" in said


def test_pdb_gets_the_options_and_the_seed_s_numbers(command_for):
    command = command_for("01_python_function/conv2d", "all_options")
    said = pdb(command, "p inputs['input'].double().sum().item()")
    rung = "01_python_function/conv2d/00_unfold_matmul"
    right = torch.from_numpy(saved("input", rung, "all_options")).sum().item()
    assert f"{right:.9g}"[:9] in said
    assert "output (2, 2, 4, 8)" in said


@pytest.fixture
def here(tools):
    """`make debug` of a file of lab 01, whole: words for pdb -> its process."""

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        names = ["T=01_python_function/linear", "CASE=small"]
        return subprocess.run(
            [sys.executable, "-m", "grader", "debug", *names],
            cwd=ROOT,
            input="".join(f"{word}\n" for word in words),
            capture_output=True,
            text=True,
            timeout=120,
        )

    return run


def test_the_key_q_ends_make_debug_without_an_error(here):
    done = here("p inputs['weight'].shape", "q")
    assert (done.returncode, done.stderr) == (0, "")
    assert "torch.Size([5, 4])" in done.stdout


def test_an_error_in_the_file_is_shown_without_the_grader_s_own_calls(here):
    done = here("arguments[1] = None", "c")
    assert done.returncode == 1
    first = done.stderr.splitlines()[1]
    assert "replay.py" in first and "00_matmul.py" in done.stderr
    assert "grader/" not in done.stderr


# ---- lab 05 --------------------------------------------------------------------------


@pytest.fixture
def built(extension, monkeypatch):
    """The package of the tests stands for the one in the lab's folder."""
    monkeypatch.setattr(debug.kernels, "LAB", FOLDER)
    monkeypatch.setattr(package, "in_place", lambda names, links: [])


def test_an_operator_of_lab_05_runs_under_pdb(built, command_for):
    command = command_for("05_torch_extension/conv2d", "all_options")
    said = pdb(command, "p function.__module__, inputs['input'].shape[0]")
    assert "('convlab_ext.conv2d', 2)" in said
    assert "output (2, 2, 4, 8)" in said


@needs_gdb
def test_gdb_stops_at_the_kernel_behind_an_operator(built, command_for):
    script = command_for("05_torch_extension/conv2d", "all_options")
    stops = ["set breakpoint pending on", "break conv2d_forward_cpu_f64", "run"]
    words = [word for stop in stops for word in ("-ex", stop)]
    said = pdb(["gdb", "-batch", *words, "--args", *script], "", PYTHONBREAKPOINT="0")
    assert "in conv2d_forward_cpu_f64" in said, said


def test_an_operator_that_does_not_build_is_said_before_any_debugger(monkeypatch):
    sentence = "not built: csrc/stable/add.cpp:3: a semicolon is missing"
    monkeypatch.setattr(package, "in_place", lambda names, links: [sentence])
    with pytest.raises(GraderError, match=r"not built: csrc/stable/add\.cpp:3"):
        debug.debug("05_torch_extension/add", None, SEED)
