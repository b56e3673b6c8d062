# SPDX-License-Identifier: MIT
"""Packages of lab 05 that cheat or break its gates: each is asked by some of them."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from grader import operators
from grader.checks.check_result import CheckResult
from grader.checks.gates.contract import GATES, Contract
from tests import PROGRAMS, output_of

PACKAGES = PROGRAMS / "redteam" / "package"
SEED = 7
# without those that take a compiler or ONNX
QUICK = tuple(gate.name for gate in GATES if gate.name not in ("compile", "onnx"))
SHORT = ("vmap", "mask")  # one for each direction


def asked(program: Path, home: Path, names: Sequence[str] = QUICK) -> list[CheckResult]:
    """What gates say of a package that has this file and its library, if it has one."""
    package = home / "package" / "convlab_ext"
    package.mkdir(parents=True)
    shutil.copyfile(program, package / "__init__.py")
    if (library := program.with_suffix(".c")).exists():
        made = package / library.with_suffix(".so").name
        command = ["cc", "-shared", "-fPIC", str(library), "-o", str(made)]
        output_of(command, seconds=60)
    gates = [gate for gate in GATES if gate.name in names]
    add = operators.get("add")
    contract = Contract(add, package.parent, home / "tools", SEED, gates=gates)
    contract.start()
    try:
        return [*contract.results("forward"), *contract.results("backward")]
    finally:
        contract.stop()
