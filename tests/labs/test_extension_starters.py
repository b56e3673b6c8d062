# SPDX-License-Identifier: MIT
"""What students get of lab 05: it imports, and says what is missing and how long."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from grader.commands.handout import starter
from grader.solution_marks import REGION
from tests import output_of
from tests.labs.extension import FOLDER, LAB

MARKED = [
    file
    for file in sorted([*LAB.glob("csrc/*/*.cpp"), *LAB.glob("convlab_ext/*.py")])
    if "BEGIN SOLUTION" in file.read_text(encoding="utf-8")
]
NOT_WRITTEN = """
import torch
import convlab_ext

said = []


def refused(call, *arguments):
    try:
        call(*arguments)
    except NotImplementedError:
        said.append("not implemented")


x, weight = torch.randn(2, 3), torch.randn(4, 3)
convlab_ext.linear(x, weight)  # the C++ is the reference's here
refused(convlab_ext.linear, x.requires_grad_(), weight)
refused(torch.vmap(convlab_ext.linear, (0, None)), x.detach(), weight)
refused(convlab_ext.linear, x.to("meta"), weight.to("meta"))
assert len(said) == 3, said
"""


def test_every_operator_has_marks_in_both_languages():
    names = {
        file.stem for file in MARKED if file.parent.name in ("stable", "convlab_ext")
    }
    expected = {
        "_bilinear",
        "add",
        "conv2d",
        "gelu",
        "linear",
        "lltm",
        "matmul",
        "subm_conv3d",
        "unfold",
    }
    assert names >= expected


@pytest.mark.parametrize("file", MARKED, ids=lambda f: f"{f.parent.name}/{f.name}")
def test_a_starter_of_lab_05_tells_truly_how_long_the_reference_is(file: Path):
    for solution, offer in REGION.findall(file.read_text(encoding="utf-8")):
        lengths = re.findall(r"\(the reference takes (.*)$", offer, re.M)
        bare = re.sub(r"/\*.*?\*/", "", solution, flags=re.S)
        kept = [line.strip() for line in bare.splitlines()]
        count = len([k for k in kept if k and not k.startswith(("//", "#"))])
        plain = f"{count} line{'s' * (count != 1)}"
        assert lengths in ([f"{plain})"], [f"{plain} for both)"]), solution


def test_the_python_starters_import_and_say_what_is_not_written(
    extension: ModuleType, tmp_path: Path
):
    package = tmp_path / "convlab_ext"
    package.mkdir()
    for file in (FOLDER / "convlab_ext").iterdir():
        if file.suffix == ".py":
            (package / file.name).write_text(starter(file.read_text(encoding="utf-8")))
        elif file.suffix == ".so":
            (package / file.name).symlink_to(file)
    output_of([sys.executable, "-c", NOT_WRITTEN], cwd=tmp_path, seconds=120)
