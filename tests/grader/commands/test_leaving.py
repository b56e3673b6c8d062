# SPDX-License-Identifier: MIT
"""How a command ends: all that was said is there, and so is its status."""

from __future__ import annotations

import subprocess
import sys

import pytest

from grader.course.rungs import ROOT

# a command in the place of all others; what was imported is taken apart by atexit
RUN = """
import atexit, runpy, sys, types
sys.path[:0] = ["common/python", "grader/python"]
import grader.commands.cli as cli
atexit.register(print, "taken apart")
if {imported}:
    sys.modules["torch"] = types.ModuleType("torch")
def main():
    print("said", end="")
    return 3
cli.main = main
runpy.run_module("grader", run_name="__main__")
"""


@pytest.mark.parametrize(("imported", "said"), [(True, "said"), (False, "saidtaken")])
def test_pytorch_is_not_taken_apart(imported: bool, said: str) -> None:
    code = RUN.format(imported=imported)
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin"},  # without PYTHONUNBUFFERED
        capture_output=True,
        text=True,
    )
    assert done.stdout.split(" ")[0] == said and done.returncode == 3, done.stderr
