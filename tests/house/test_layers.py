# SPDX-License-Identifier: MIT
"""The rooms of the house stand in an order, and no name is taken for another one."""

from __future__ import annotations

from pathlib import Path

import pytest
from signatures.of_exhibits import ALL

from tests import ROOT
from tests.house import layers

KNOWN = layers.modules(ROOT)


def tree(folder: Path, **files: str) -> layers.Imports:
    """The imports of a made-up house; __ stands for a folder."""
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return layers.imports(layers.modules(folder))


def test_an_import_goes_down_only():
    assert not layers.upwards(layers.imports(KNOWN))


def test_no_modules_import_each_other_in_a_circle():
    assert not layers.circles(layers.imports(KNOWN))


def test_a_folder_has_few_modules():
    assert not layers.crowded(KNOWN)


def test_no_two_modules_have_nearly_the_same_name():
    assert not layers.alike(KNOWN, set(ALL))


def test_all_rooms_are_there():
    for room in layers.ROOMS:
        assert any(f"{name}.".startswith(f"{room}.") for name in KNOWN), room
    assert len(KNOWN) > 150  # none was overlooked


# ---- the checks themselves -----------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "from grader.engine import score",
        "from grader.engine.score import parts",
        "import grader.engine.score",
        "def f():\n    from grader.engine import score",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n"
        "    from grader.engine.score import parts",
    ],
)
def test_an_arrow_upwards_is_seen(tmp_path: Path, text: str):
    found = tree(tmp_path, grader__checks__one=text, grader__engine__score="")
    assert layers.upwards(found) == ["grader.checks.one imports grader.engine.score"]


def test_a_circle_is_seen(tmp_path: Path):
    found = tree(
        tmp_path,
        grader__checks__one="from grader.checks import two",
        grader__checks__two="def f():\n    import grader.checks.three",
        grader__checks__three="from grader.checks.one import anything",
    )
    assert layers.circles(found) == [
        "grader.checks.one -> grader.checks.two -> grader.checks.three -> "
        "grader.checks.one"
    ]


def test_a_crowded_folder_and_names_alike_are_seen(tmp_path: Path):
    files = {f"grader__report__m{i}{i}": "" for i in range(10, 25)}
    tree(tmp_path, **files, grader__report__packages="", grader__checks__package="")
    made_up = layers.modules(tmp_path)
    assert layers.crowded(made_up) == ["grader.report has 16 modules"]
    said = layers.alike(made_up, set())
    assert "grader.checks.package and grader.report.packages" in said
