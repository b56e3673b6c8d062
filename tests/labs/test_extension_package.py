# SPDX-License-Identifier: MIT
"""convlab_ext as a package: its version, its types, the tag of its wheel."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

from grader.course.rungs import ROOT
from grader.toolchain import sandbox
from tests import output_of, put
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
        timeout=600,
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


USED = """
import os, sys
import torch
import convlab_ext

assert not os.path.exists(sys.argv[1]), "the lab is hidden"
x, y = torch.randn(3, 4, requires_grad=True), torch.randn(4)
output = convlab_ext.add(x, y, alpha=2)
assert torch.allclose(output, x + 2 * y)
output.sum().backward()
assert x.grad.eq(1).all()
print(convlab_ext.__file__)
"""


def needed_by(name: str) -> bytes:
    """What readelf says of the libraries that a library needs."""
    done = subprocess.run(["readelf", "-d", name], capture_output=True, timeout=60)
    return done.stdout


@pytest.mark.skipif(sandbox.level() != "bwrap", reason="needs bubblewrap")
def test_a_wheel_of_the_sdist_is_built_and_works_where_the_repository_is_not(
    tmp_path: Path,
):
    """All is compiled from nothing. To install a wheel is to unpack it."""
    asked("-q", "sdist", "-d", str(tmp_path))
    with tarfile.open(tmp_path / "convlab_ext-1.0.tar.gz") as packed:
        packed.extractall(tmp_path, filter="data")
    sources = tmp_path / "convlab_ext-1.0"
    assert not [p for p in sources.rglob("*") if p.name in ("grader", "bug_hunt")]
    hide = ["bwrap", "--dev-bind", "/", "/"]
    for name in ("labs", "common", "grader", "build"):
        hide += ["--tmpfs", str(ROOT / name)] if (ROOT / name).exists() else []
    stale = f"lib.{sysconfig.get_platform()}-{sys.implementation.cache_tag}"
    put(sources / "build" / "extension" / stale / "convlab_ext" / "_old.abi3.so")
    chosen = {"OPERATORS": "add,gelu", "CUDA": "0"}
    variables = {k: v for k, v in os.environ.items() if not k.startswith("CONVLAB")}
    said = output_of(
        [*hide, "--chdir", str(sources), sys.executable, "setup.py", "bdist_wheel"],
        env={**variables, **chosen},
        seconds=600,
    )
    assert "[1/10] compiled labs/03_im2col_cpu/" in said
    (wheel,) = (sources / "dist").iterdir()
    assert re.match(r"convlab_ext-1\.0-cp310-abi3-linux_", wheel.name)
    with zipfile.ZipFile(wheel) as packed_wheel:
        packed_wheel.extractall(tmp_path / "site")
    package = tmp_path / "site" / "convlab_ext"
    libraries = {file.name for file in package.glob("*.so")}
    assert libraries == {"_add.abi3.so", "_gelu.abi3.so", "_cpu_level.so"}
    assert b"[libgomp.so.1]" in needed_by(str(package / "_gelu.abi3.so"))
    shutil.rmtree(sources)
    command = [*hide, "--chdir", "/", sys.executable, "-c", USED, str(LAB / "setup.py")]
    variables["PYTHONPATH"] = str(tmp_path / "site")
    found = output_of(command, env=variables, seconds=120)
    assert found.strip().startswith(str(tmp_path / "site"))
