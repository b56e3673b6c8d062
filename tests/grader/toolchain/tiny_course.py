# SPDX-License-Identifier: MIT
"""A course of tiny rungs, for tests of what is linked.

The rungs are three lines each: their forward returns a number, and by the number a test
knows whose function was called.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest

from grader.course import rungs
from grader.course.rungs import ROOT, Rung
from grader.course.tasks import all_tasks
from grader.engine.answers import earlier_links
from grader.toolchain import given
from grader.toolchain.linking import Links
from grader.toolchain.products import Build
from grader.verdicts import Verdict
from tests import put

HEAD = '#include "operators.h"\n'
FORWARD = """status_t gelu_forward(ctx_t *ctx, const tensor_t *input, gelu_params_t p,
                      tensor_t *output)
{{
    return {value};
}}
"""
BACKWARD = """status_t gelu_backward(ctx_t *ctx, const tensor_t *grad_output,
                       const tensor_t *input, gelu_params_t p, tensor_t *grad_input)
{{
    return {value};
}}
"""
SOLUTION = "// BEGIN SOLUTION\n// END SOLUTION\n// STARTER\n"


UNSUPPORTED = 5  # a forward that returns this leaves every case


def forward(value: int | str) -> str:
    """A gelu_forward that returns a number, or calls another forward."""
    text = f"(status_t){value}"
    if isinstance(value, str):
        text = f"{value}_forward(ctx, input, p, output)"
    declared = f"gelu_forward_fn {value}_forward;\n" if isinstance(value, str) else ""
    return HEAD + declared + FORWARD.format(value=text)


class Course:
    """A repository of tiny rungs, which the grader takes for its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.tomls: dict[str, str] = {}

    def lab(self, name: str, *lines: str) -> None:
        """A lab with the ladders of two operators and these lines for its rungs."""
        text = 'title = "x"\nlanguage = "c"\n'
        for operator in ("add", "gelu"):
            text += f"[ladder.{operator}]\npoints = 2\n"
        self.file(f"{name}/lab.toml", text + "\n".join(lines) + "\n")

    def file(self, name: str, text: str) -> None:
        put(self.root / "labs" / name, text)
        all_tasks.cache_clear()

    def rung(self, name: str) -> Rung:
        (found,) = [r for t in all_tasks() for r in t.rungs if r.id == name]
        return found

    def links(self, *right: str, direction: str = "forward") -> Links:
        """Links that know of these rungs that they are right."""
        links = earlier_links.links()
        for name in right:
            links.found(self.rung(name), direction, Verdict.PASS)
        return links

    def built(self, name: str, *right: str) -> Build:
        """A rung, linked with what is right."""
        return self.links(*right).build(self.rung(name))


def answer(library: Path, function: str = "gelu_forward") -> int:
    """Call a function of a library with nothing."""
    return ctypes.CDLL(str(library))[function](None, None, 0, 0, None, None)


def exported(library: Path) -> set[str]:
    command = ["nm", "-D", "--defined-only", str(library)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    return {line.split()[-1] for line in done.stdout.splitlines()}


@pytest.fixture
def course(tmp_path, monkeypatch) -> Course:
    """Lab 02 with a gelu that answers 20, and lab 03 that may use it."""
    (tmp_path / "build").mkdir()
    shutil.copytree(ROOT / "common", tmp_path / "common")
    monkeypatch.setattr(rungs, "ROOT", tmp_path)
    monkeypatch.setenv("CONVLAB_BUILD", str(tmp_path / "build"))
    made = Course(tmp_path)
    made.lab("02_naive_c")
    made.file("02_naive_c/gelu/00_definition.c", SOLUTION + forward(20))
    made.lab("03_next", '[rung."gelu/00_call"]', 'uses.plain = "02_naive_c/gelu"')
    made.file("03_next/gelu/00_call.c", forward("plain"))
    yield made
    all_tasks.cache_clear()


STUDENT, CALLER = "02_naive_c/gelu/00_definition", "03_next/gelu/00_call"
GIVEN = f"given/{given.arch()}/gelu"
