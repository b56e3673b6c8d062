# SPDX-License-Identifier: MIT
"""The HTML report in a real browser: what is requested, shown, and where it stands.

One Chromium serves all tests of this file. Its window, colours and media are set for
each page; tests/grader/report/browser.py keeps every request and every message.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import put
from tests.grader.engine import results as made
from tests.grader.report.browser import Browser
from tests.grader.report.test_report import HOSTILE, hostile, rendered

HEAT = {
    "case": "all_options",
    "planes": [
        {"title": "input given", "values": [[1, 2]], "wrong": [], "more": False},
        {"title": "output came", "values": [[1, None]], "wrong": [".#"], "more": True},
        {"title": "output expected", "values": [[1, 3]], "wrong": [".#"], "more": True},
    ],
}
PHONE, DESKTOP, PAPER = 390, 1280, 688  # pixels; paper is A4 within its margins
LADDER = "03-im2col-cpu-conv2d"

CONTRAST = """
(() => {
  const parse = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = (colour) => {
    const [r, g, b] = parse(colour).map((v) => {
      v /= 255;
      return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      const parts = parse(colour);
      if (parts.length === 3 || parts[3] > 0) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const bad = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some(
      (node) => node.nodeType === 3 && node.data.trim());
    if (!own || ["SCRIPT", "title", "desc"].includes(element.tagName)) continue;
    const style = getComputedStyle(element);
    const ink = element instanceof SVGElement ? style.fill : style.color;
    const [a, b] = [light(ink), light(behind(element))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) bad.push(`${element.tagName} ${ratio.toFixed(2)} ${ink}`);
  }
  return bad;
})()
"""

OVERLAPS = """
(() => {
  const bad = [];
  for (const chart of document.querySelectorAll("svg.chart[role=img]")) {
    const words = [...chart.querySelectorAll("text")].map(
      (text) => [text.textContent, text.getBoundingClientRect()]);
    words.forEach(([one, a], i) => words.slice(i + 1).forEach(([other, b]) => {
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (wide > 1 && high > 4) bad.push(`${one} and ${other}`);
    }));
  }
  return bad;
})()
"""

COLOUR = "getComputedStyle(document.body).backgroundColor"
WAIT = "new Promise((done) => setTimeout(done, 200))"
UNFOLD = "document.querySelectorAll('details').forEach((one) => { one.open = true; })"

CHARTS = """
[...document.querySelectorAll("svg[role=img]")].map((chart) => {
  const box = chart.getBoundingClientRect();
  const named = chart.getAttribute("aria-labelledby").split(" ").map(
    (id) => document.querySelectorAll(`[id="${id}"]`).length);
  const inside = [...chart.querySelectorAll("rect, line, use, text")].some(
    (shape) => shape.getBoundingClientRect().width > 0);
  return [box.width, box.height, named, inside];
})
"""

Show = Callable[..., Browser]


@pytest.fixture
def show(browser: Browser, tmp_path: Path) -> Show:
    """Results to a page in the browser, at a width and with media features."""

    def shown(
        results: dict[str, Any] | None = None, *, width: int = DESKTOP, **look: str
    ) -> Browser:
        browser.look(width=width, **look)
        text = rendered(results or course(), tmp_path)
        browser.open(put(tmp_path / "report.html", text))
        return browser

    return shown


def course() -> dict[str, Any]:
    """The made-up course, with one task that fails."""
    results = made.course()
    wrong = next(t for t in results["tasks"] if t["id"] == "02_naive_c/add")
    message = "case: " + "word " * 40 + "w" * 200
    wrong["rungs"][0]["checks"][0] = made.check(
        "forward",
        "forward",
        "WRONG_VALUE",
        message=message,
        replay="make debug T=x",
        heat=HEAT,
    )
    return results


def test_a_phone_shows_all_labs_of_the_matrix(show):
    right = "[...document.querySelectorAll('.matrix thead th')].map("
    right += "(cell) => cell.getBoundingClientRect().right)"
    ends = show(width=PHONE).value(right)
    assert len(ends) == 6 and max(ends) <= PHONE


def test_the_page_asks_for_nothing_and_prints_nothing(show):
    page = show()
    page.value(WAIT)
    asked = {address.partition(":")[0] for address in page.requests}
    assert asked <= {"file", "data"} and len(page.requests) <= 2, page.requests
    assert page.printed == []


def test_the_browser_notices_requests_and_messages(browser, tmp_path):
    """The test above could fail: a page that does both is caught."""
    text = "<img src='http://example.invalid/x'><script>nothing()</script>"
    browser.open(put(tmp_path / "bad.html", text))
    browser.value(WAIT)
    assert "http://example.invalid/x" in browser.requests
    assert any("nothing is not defined" in text for text in browser.printed)


def test_a_heat_map_crosses_what_came_wrong_and_says_its_numbers(show):
    page = show()
    page.value(UNFOLD)
    drawn = "document.querySelector('svg.heat')"
    assert page.value(f"{drawn}.querySelectorAll('.heat-wrong').length") == 1
    said = page.value(
        f"[...{drawn}.querySelectorAll('rect title')].map((t) => t.textContent)"
    )
    assert said == ["1", "2", "1", "not a finite number, wrong", "1", "3"]
    left = page.value(
        f"(() => {{ const all = [...{drawn}.querySelectorAll('rect')];"
        "const cross = document.querySelector('.heat-wrong').getBoundingClientRect();"
        "const box = all[3].getBoundingClientRect();"
        "return cross.left > box.left && cross.right < box.right; })()"
    )
    assert left is True
    colours = page.value(
        f"[...{drawn}.querySelectorAll('rect')].map((r) => getComputedStyle(r).fill)"
    )
    assert colours[0] != colours[1] and colours[3] == "none"
    about = page.value("document.querySelector('.heat-box + p').textContent")
    assert about == "case all_options, a part around the first wrong element"


def test_what_students_write_is_not_run(show, tmp_path):
    page = show(hostile(tmp_path))
    assert page.value("typeof window.hit") == "undefined"
    assert HOSTILE in page.value("document.querySelector('.said').textContent")
    assert page.value("document.images.length") == 0
    assert page.printed == []


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_every_chart_has_a_box_a_title_a_description_and_labels_apart(show, width):
    page = show(width=width)
    page.value(UNFOLD)
    charts = page.value(CHARTS)
    assert len(charts) > 60
    for wide, high, named, inside in charts:
        assert wide > 40 and high >= 10 and named == [1, 1] and inside
    assert page.value(OVERLAPS) == []


def test_a_phone_scrolls_only_inside_boxes(show):
    page = show(width=PHONE)
    page.value(UNFOLD)
    assert page.value("innerWidth") == PHONE
    assert page.value("document.documentElement.scrollWidth") == PHONE
    page.value("scrollTo(500, 0)")
    assert page.value("scrollX") == 0
    assert page.value("document.querySelector('.speed').offsetWidth") > PHONE


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_what_is_behind_it(show, scheme):
    results = made.course()
    results["tasks"][12] = made.every_verdict(results["tasks"][12]["id"])
    page = show(results, color_scheme=scheme)
    page.value(UNFOLD)
    colours = {"light": "rgb(251, 251, 250)", "dark": "rgb(21, 24, 29)"}
    assert page.value(COLOUR) == colours[scheme]
    assert page.value(CONTRAST) == []


def test_the_colours_can_be_chosen_and_are_kept(show):
    page = show(color_scheme="light")
    light, seen = page.value(COLOUR), []
    for _ in range(3):
        page.value("document.getElementById('theme').click()")
        seen.append((page.value("theme.textContent"), page.value(COLOUR) == light))
    words = ("colours: light", "colours: dark", "colours: auto")
    assert seen == list(zip(words, (True, False, True)))


def test_a_cell_of_the_matrix_leads_to_its_task_and_unfolds_it(show):
    page = show()
    opened = f"document.getElementById('{LADDER}').closest('details').open"
    assert page.value(opened) is False
    page.value(f"document.querySelector('a[href=\"#{LADDER}\"]').click()")
    page.value(WAIT)
    assert page.value(opened) is True


def test_the_filter_leaves_what_fits(show):
    page = show()
    shown = "document.querySelectorAll('details.task:not([hidden])').length"
    assert page.value(shown) == 50
    page.value("document.querySelector('#filter button').click()")
    assert page.value(shown) == 2
    page.value("document.querySelector('#filter button').click()")
    page.value("words.value = 'gelu'; words.dispatchEvent(new Event('input'))")
    assert page.value(shown) == 5


def test_a_command_has_a_button_that_copies_it(show):
    page = show()
    page.value("document.querySelector('.check .replay button').click()")
    page.value(WAIT)
    words = "document.querySelector('.check .replay {}').textContent"
    assert page.value(words.format("button")) in ("copied", "press Ctrl+C")
    assert page.value(words.format("code")).startswith("make debug T=")


def test_paper_shows_everything_within_its_width_on_white(show, tmp_path):
    page = show(width=PAPER, media="print", color_scheme="dark")
    assert page.value("document.documentElement.scrollWidth") <= PAPER
    assert page.value(COLOUR) == "rgb(255, 255, 255)"
    hidden = """[...document.querySelectorAll("details .body")].filter(
        (body) => !body.checkVisibility({contentVisibilityAuto: true})).length"""
    assert page.value(hidden) == 0
    assert page.value("document.querySelectorAll('details:not([open])').length") > 40
    page.paper(tmp_path / "report.pdf")
    assert (tmp_path / "report.pdf").stat().st_size > 50_000


def test_without_its_script_the_page_still_shows_everything(show, tmp_path):
    page = show()
    page.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        page.open(tmp_path / "report.html")
        assert page.value("document.getElementById('filter').hidden") is True
        assert page.value("document.querySelectorAll('details[open]').length") == 2
    finally:
        page.call("Emulation.setScriptExecutionDisabled", value=False)
