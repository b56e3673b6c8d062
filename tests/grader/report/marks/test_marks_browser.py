# SPDX-License-Identifier: MIT
"""The pages about a course in a real browser, on a phone and on a desktop."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from grader.commands import cli
from grader.engine.similarity import pairs
from grader.engine.similarity.pairs import Source
from grader.handout import course_trees
from grader.report.marks import similar_page
from tests import put
from tests.grader.course.offered import read
from tests.grader.report.marks import made_class
from tests.grader.report.test_report import HOSTILE
from tests.grader.report.test_report_browser import (
    CHARTS,
    CONTRAST,
    DESKTOP,
    OVERLAPS,
    PHONE,
    UNFOLD,
    WAIT,
)
from tests.proofs import planted
from tests.proofs.similarity import RIGHT

PAGES = "student", "class", "board", "similar"
SIZES = pytest.mark.parametrize("width", [PHONE, DESKTOP])
EACH = pytest.mark.parametrize("name", PAGES)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the pages."""
    folder = tmp_path_factory.mktemp("pages")
    made = read(folder)
    made_class.on_desk(folder / made.name, made)
    with pytest.MonkeyPatch.context() as context:
        context.setattr(course_trees, "_try_hidden", lambda made: None)
        context.setenv("COURSE", str(folder / "course.toml"))
        context.setenv("DESK", str(folder))
        context.setenv("TO", "pages,class")
        assert cli.run("marks") == 0
    exports = folder / made.name / "exports"
    shutil.copy(exports / "pages" / "Ada.html", exports / "student.html")
    text = (RIGHT / "conv2d" / "forward_index.c").read_text()
    copy = planted.copied(text, ".c", 1) + f"// {HOSTILE} {'long ' * 60}\n"
    place = "labs/02_naive_c/conv2d/00_definition.c"
    sources = [Source(who, place, t, "conv2d") for who, t in zip("ab", (text, copy))]
    found = pairs.ranked(sources, lambda topic: set(), most=9)
    put(exports / "similar.html", similar_page.render(found, made, students=2))
    return exports


@EACH
@SIZES
def test_a_page_fits_its_window_and_asks_for_nothing(browser, written, name, width):
    browser.look(width=width)
    browser.open(written / f"{name}.html")
    browser.value(UNFOLD)
    browser.value(WAIT)
    assert browser.printed == []
    assert {address.partition(":")[0] for address in browser.requests} <= {
        "file",
        "data",
    }
    assert browser.value("document.documentElement.scrollWidth") == width
    charts = browser.value(CHARTS)
    assert bool(charts) == (name != "similar")
    for wide, high, named, inside in charts:
        assert wide > 40 and high >= 10 and named == [1, 1] and inside
    assert browser.value(OVERLAPS) == []


@EACH
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_on_each_page(browser, written, name, scheme):
    browser.look(width=DESKTOP, color_scheme=scheme)
    browser.open(written / f"{name}.html")
    browser.value(UNFOLD)
    assert browser.value("document.body.innerText.length") > 200
    assert browser.value(CONTRAST) == []


@SIZES
def test_two_files_stand_side_by_side_where_there_is_room(browser, written, width):
    browser.look(width=width)
    browser.open(written / "similar.html")
    left, right = browser.value(
        "[...document.querySelectorAll('.pair figure')].map("
        "(one) => [one.getBoundingClientRect().left, one.getBoundingClientRect().top])"
    )
    assert (left[1] == right[1]) is (width == DESKTOP)
    assert (left[0] == right[0]) is (width == PHONE)
    assert browser.value("document.querySelectorAll('.pair mark').length") > 40
    assert browser.value("typeof window.hit") == "undefined"
    assert browser.value("document.images.length") == 0
