# SPDX-License-Identifier: MIT
"""Lab 05's notebook: what it draws is what was counted, with the package built."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import matplotlib as mpl
import nbformat
import pytest
import torch

from grader.course.rungs import ROOT

NOTEBOOK = ROOT / "labs/05_torch_extension/operator.ipynb"


@pytest.fixture(scope="module")
def ran(extension: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """The notebook's names after all cells, and what each printed; without a kernel."""
    mpl.use("agg")
    space: dict[str, Any] = {}
    printed: dict[str, str] = {}
    for cell in nbformat.read(NOTEBOOK, as_version=4).cells:
        if cell.cell_type == "code" and cell.id != "check-own":
            with contextlib.redirect_stdout(io.StringIO()) as said:
                exec(compile(cell.source, cell.id, "exec"), space)
            printed[cell.id] = said.getvalue()
    return space, printed


def test_every_station_of_the_picture_that_has_a_count_was_passed(ran):
    space, _ = ran
    for way, count in ((space["down"], 0), (space["back"], 1)):
        passed = {key: space["counts"][count][key] for _, key in way if key}
        assert len(passed) == 6
        assert set(passed.values()) == {1}, passed


def test_the_table_shows_a_kernel_in_c_and_the_rules_in_python(ran):
    space, printed = ran
    rows = dict(space["table"]("convlab::conv2d"))
    assert rows["CPU"] == "conv2d.cpp"
    assert rows["AutogradCPU"] == "_rules.py"
    assert rows["ADInplaceOrView"] == "fallthrough"
    assert list(rows).index("AutocastCPU") < list(rows).index("AutogradCPU")
    assert "CPU               conv2d.cpp" in printed["table"]


def test_autocast_is_seen_to_convert_and_call_again(ran):
    plain, cast = ran[1]["tree"].split("autocast = True")
    assert "aten::to" in cast and "aten::to" not in plain
    assert plain.count("convlab::conv2d") == 1 and cast.count("convlab::conv2d") == 3


def test_views_share_a_storage_and_a_sum_gives_strides_of_zero(ran):
    space, printed = ran
    places = {t.untyped_storage().data_ptr() for t in space["views"].values()}
    assert len(places) == 1
    assert "(0, 0, 0, 0)" in printed["expanded"]
    assert torch.equal(space["views"]["y.T"], space["y"].T)
