# SPDX-License-Identifier: MIT
"""The code that checks an exercise of a notebook is folded: it may have the answer."""

from __future__ import annotations

import re
from itertools import pairwise

import nbformat
import pytest

from grader.commands.notebooks import FOLDED, all_notebooks, page


@pytest.mark.parametrize("path", all_notebooks(), ids=lambda path: path.stem)
def test_the_check_of_an_exercise_is_folded(path):
    """Its code computes the answer in another way."""
    cells = nbformat.read(path, as_version=4).cells
    own = re.compile("(#|//) your (code|answer)")
    after = [check for cell, check in pairwise(cells) if own.search(cell.source)]
    assert after
    for check in after:
        assert check.metadata.jupyter.source_hidden and FOLDED in check.metadata.tags


def test_a_page_shows_what_a_check_printed_and_not_its_code():
    check = nbformat.v4.new_code_cell("the_answer()", metadata={"tags": [FOLDED]})
    check.outputs = [nbformat.v4.new_output("stream", text="not yet")]
    cells = [nbformat.v4.new_code_cell("the_exercise()"), check]
    shown = page(nbformat.v4.new_notebook(cells=cells))
    assert "the_answer" not in shown and "not yet" in shown
    assert "the_exercise" in shown
