# SPDX-License-Identifier: MIT
"""`make step`: which operators have which first step, and what others are told."""

from __future__ import annotations

from typing import Any

import pytest

from grader.commands import cli, step
from grader.errors import GraderError


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], list[str]]]:
    """Operators and steps that would have been built."""
    asked: list[tuple[list[str], list[str]]] = []

    def build(names: list[str], links: object, steps: list[str]) -> str:
        asked.append((names, list(steps)))
        return ""

    monkeypatch.setattr(step.package, "earlier_steps", build)
    monkeypatch.setattr(step, "build_tools", lambda: None)
    return asked


@pytest.mark.parametrize(
    ("steps", "task", "operators"),
    [
        ("pybind", "", ["add", "matmul"]),
        ("aten", "", ["add", "conv2d"]),
        ("", "05_torch_extension/conv2d", ["conv2d"]),
    ],
)
def test_operators_that_have_the_step_are_built(
    steps: str,
    task: str,
    operators: list[str],
    built: list[Any],
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.run("step", [f"STEPS={steps}", f"T={task}"]) == 0
    assert built == [(operators, [steps] if steps else ["pybind", "aten"])]
    used = "aten" if operators == ["conv2d"] or steps == "aten" else "pybind"
    assert f"from convlab_ext import {used}; " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("steps", "task", "sentence"),
    [
        ("stable", "", "STEPS=stable: expected some of pybind,aten; the last step"),
        (
            "pybind",
            "05_torch_extension/gelu",
            "in lab 05 only add, matmul have the step",
        ),
        ("aten", "02_naive_c/add", "in lab 05 only add, conv2d have the step aten"),
    ],
)
def test_what_cannot_be_built_is_told(
    steps: str,
    task: str,
    sentence: str,
    built: list[Any],
) -> None:
    with pytest.raises(GraderError, match=sentence):
        cli.run("step", [f"STEPS={steps}", f"T={task}"])
    assert not built
