# SPDX-License-Identifier: MIT
"""The tests beside a card, run beside the stand-in."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from grader.toolchain import cusim
from tests.card import stand_in

BESIDE_A_CARD = "tests/card/on_card.py"


@pytest.mark.skipif(bool(why := stand_in.refused()), reason=why)
def test_every_test_beside_a_card_passes_beside_the_stand_in(
    tools: Path, tmp_path: Path
):
    cusim.build_tools()
    build = tmp_path / "build"
    for part in ("tools", "cusim"):
        shutil.copytree(tools.parent / part, build / part)
    kit = stand_in.toolkit(tmp_path / "toolkit", build)
    told = tmp_path / "told.xml"
    command = [sys.executable, "-m", "pytest", "-n0", f"--junitxml={told}"]
    command += [f"--basetemp={tmp_path / 'inner'}", BESIDE_A_CARD]
    done = stand_in.run(command, kit=kit, build=build)
    assert done.returncode == 0, done.stdout + done.stderr
    skipped = [case.get("message") for case in ElementTree.parse(told).iter("skipped")]
    assert not skipped
