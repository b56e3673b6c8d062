# SPDX-License-Identifier: MIT
"""convlab_ext as a package: its version, its types, the tag of its wheel."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.labs.extension import LAB

INIT = LAB / "convlab_ext" / "__init__.py"


def asked(*words: str, **chosen: str) -> str:
    """What setup.py says, which builds nothing here."""
    done = subprocess.run(
        [sys.executable, "setup.py", *words],
        cwd=LAB,
        env={**os.environ, **chosen},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def imported_for_types(text: str) -> set[str]:
    """The names that a checker of types sees."""
    (block,) = [
        node
        for node in ast.parse(text).body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    lines = [line for line in block.body if isinstance(line, ast.ImportFrom)]
    return {name.asname or "" for line in lines for name in line.names}


def test_a_checker_of_types_sees_each_operator_and_each_module(extension):
    names = {*extension.OPERATORS, *extension.MODULES}
    assert imported_for_types(INIT.read_text()) == names
    assert (INIT.parent / "py.typed").exists()


def test_the_version_stands_in_the_package_and_nowhere_else(extension):
    assert re.fullmatch(r"\d+\.\d+", extension.__version__)
    assert asked("--version").strip() == extension.__version__


@pytest.mark.parametrize(
    ("steps", "tag"), [("stable", "cp310-abi3"), ("stable,aten", None)]
)
def test_a_wheel_of_step_c_serves_every_later_python(
    steps: str, tag: str | None, tmp_path: Path
):
    """Step (b) is compiled for one Python, and so is a wheel that has it."""
    program = (
        "import sys, setuptools; sys.argv = ['setup.py', '-q', 'egg_info', '-e', "
        f"{str(tmp_path)!r}]; made = []; usual = setuptools.setup\n"
        "setuptools.setup = lambda **words: made.append(usual(**words))\n"
        "import runpy; runpy.run_path('setup.py', run_name='__main__')\n"
        "command = made[0].get_command_obj('bdist_wheel')\n"
        "command.ensure_finalized(); print('-'.join(command.get_tag()[:2]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=LAB,
        env={**os.environ, "STEPS": steps},
        capture_output=True,
        text=True,
        timeout=120,
    )
    one = f"cp{sys.version_info.major}{sys.version_info.minor}"
    assert done.stdout.split()[-1] == (tag or f"{one}-{one}"), done.stderr
