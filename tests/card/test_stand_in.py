# SPDX-License-Identifier: MIT
"""The tests beside a card and `make grade`, run beside the stand-in."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from grader.toolchain import cusim
from tests import put
from tests.card import stand_in
from tests.grader.checks.cuda.gelu_ladder import RIGHT
from tests.grader.engine.test_grade import Tree, copy_of_the_repository

BESIDE_A_CARD = "tests/card/on_card.py"
LAB = """title = "CUDA"
language = "cuda"
[ladder.add]
points = 1
[ladder.gelu]
points = 1
[rung."gelu/00_for_a_card"]
architectures = ["sm_80"]
needs = "gpu"
"""
ADD, GELU = "04_cuda_kernels/add/00_strided", "04_cuda_kernels/gelu/00_for_a_card"
WRONG = RIGHT.replace("x / 2 * (1 + real_erf", "x / 2 * (2 + real_erf")
pytestmark = pytest.mark.skipif(bool(why := stand_in.refused()), reason=why)


@pytest.fixture
def tree(tools: Path, tmp_path: Path) -> Tree:
    """A tree with a file for every machine, and one that a card alone runs."""
    cusim.build_tools()
    made = copy_of_the_repository(tmp_path / "tree", tools, "04_cuda_kernels/add")
    lab = made.root / "labs" / "04_cuda_kernels"
    for file in lab.glob("add/0[1-9]_*"):
        file.unlink()
    put(lab / "lab.toml", LAB)
    put(lab / f"{GELU.split('/', 1)[1]}.cu", RIGHT)
    return made


def test_make_grade_goes_on_beside_a_card(tree: Tree, tmp_path: Path):
    kit = stand_in.toolkit(tmp_path / "toolkit", tree.build)

    def asked(rung: str) -> set[str]:
        """The names of the checks that `make grade` made."""
        command = ["make", "grade", f"PYTHON={sys.executable}", f"T={rung}"]
        done = stand_in.run(command, kit=kit, build=tree.build, tree=tree.root)
        assert tree.results_file.exists(), done.stdout + done.stderr
        (found,) = tree.task(rung.rsplit("/", 1)[0])["rungs"]
        return {check["name"] for check in found["checks"]}

    on_a_card = {"gpu forward", "gpu gradient", "gpu memory", "gpu races"}
    assert {"forward", "memory", *on_a_card} <= asked(ADD)
    assert tree.verdicts(ADD) == {"forward": "PASS", "backward": "PASS"}
    assert "gpu forward" in asked(GELU)
    assert tree.verdicts(GELU) == {"forward": "PASS"}
    put(tree.root / "labs" / f"{GELU}.cu", WRONG)
    asked(GELU)
    assert tree.verdicts(GELU) == {"forward": "WRONG_VALUE"}


def test_every_test_beside_a_card_passes_beside_the_stand_in(
    tools: Path, tmp_path: Path
):
    cusim.build_tools()
    build = tmp_path / "build"
    for part in ("tools", "cusim"):
        shutil.copytree(tools.parent / part, build / part)
    kit = stand_in.toolkit(tmp_path / "toolkit", build)
    report = tmp_path / "report.xml"
    command = [sys.executable, "-m", "pytest", "-n0", f"--junitxml={report}"]
    command += [f"--basetemp={tmp_path / 'inner'}", BESIDE_A_CARD]
    done = stand_in.run(command, kit=kit, build=build)
    assert done.returncode == 0, done.stdout + done.stderr
    skipped = [
        case.get("message") for case in ElementTree.parse(report).iter("skipped")
    ]
    assert not skipped
