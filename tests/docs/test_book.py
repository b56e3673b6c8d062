# SPDX-License-Identifier: MIT
"""`make docs`, both editions: every page in a browser, every link, the search."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from docs.book import build
from grader.course.offered import course_file, narrowed
from grader.course.tasks import all_tasks
from grader.handout import course_trees
from grader.toolchain.make import build_folder
from tests import ROOT

PHONE, DESKTOP = 420, 1300
OWN = ("file:", "data:")
SCRIPTED = {"genindex.html", "search.html"}


@pytest.fixture(scope="module")
def book() -> Path:
    """The folder with both editions."""
    assert build.main([]) == 0
    return build_folder() / "book"


def html(book: Path, edition: str) -> list[Path]:
    found = sorted((book / edition / "html").rglob("*.html"))
    assert len(found) > 20
    return found


class Page(HTMLParser):
    """What a page links to, and the places in it that have a name."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.names: set[str] = set()
        self.feed(file.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.names.add(value)
            if name in ("href", "src") and value:
                self.links.append(value)


@pytest.mark.parametrize("edition", build.EDITIONS)
def test_every_page_opens_on_a_phone_and_on_a_desktop(book, browser, edition):
    bad = []
    for page in html(book, edition):
        for width in (PHONE, DESKTOP):
            browser.look(width=width)
            browser.open(page)
            wide = browser.value("document.documentElement.scrollWidth")
            titles = browser.value("document.querySelectorAll('h1').length")
            foreign = [url for url in browser.requests if not url.startswith(OWN)]
            titled = titles == 1 or page.name in SCRIPTED
            if wide > width or browser.printed or foreign or not titled:
                bad.append((page.name, width, wide, titles, browser.printed, foreign))
    assert not bad


@pytest.mark.parametrize("edition", build.EDITIONS)
def test_every_link_leads_somewhere(book, edition):
    root = book / edition / "html"
    pages = {file.resolve(): Page(file) for file in html(book, edition)}
    bad = []
    for file, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = file.parent / unquote(parts.path) if parts.path else file
            name = unquote(parts.fragment)
            anchors = pages.get(target.resolve())
            lost = name and anchors and name not in anchors.names
            if not target.exists() or (lost and link != "#"):
                bad.append(f"{file.relative_to(root.resolve())}: {link}")
    assert not bad


@pytest.mark.parametrize("edition", build.EDITIONS)
def test_the_search_finds_words(book, browser, edition):
    page = book / edition / "html" / "search.html"
    browser.open(page)
    browser.call("Page.navigate", url=f"{page.as_uri()}?q=im2col")
    found = browser.value(
        """new Promise((done) => {
          const look = () => {
            const links = document.querySelectorAll(".search li a").length;
            links ? done(links) : setTimeout(look, 50);
          };
          setTimeout(() => done(0), 20000);
          look();
        })"""
    )
    assert found > 0


def test_formulas_and_pictures_are_drawn(book, browser):
    page = "labs/01_python_function/conv2d_gradients.html"
    browser.open(book / "student" / "html" / page)
    formulas = browser.value(
        "[...document.querySelectorAll('math')].filter("
        "(m) => m.getBoundingClientRect().width > 5).length"
    )
    pictures = browser.value(
        "[...document.images].filter((i) => i.complete && i.naturalWidth > 50).length"
    )
    assert formulas > 50
    assert pictures > 5


def test_students_get_no_decisions_no_results_and_no_solution(book):
    """build.main has searched its pages for the lines of every solution."""
    student = {file.name for file in html(book, "student")}
    instructor = {file.name for file in html(book, "instructor")}
    for name in ("0017-rooms.html", "student_mistakes.html", "CONTRIBUTING.html"):
        assert name in instructor - student
    assert student - instructor == set()


def test_students_read_no_rubric_of_a_ready_course(book):
    """Nor in the index of the search; test_course_handout.py sees the search fail."""
    for file in sorted((ROOT / "docs" / "courses").glob("*.toml")):
        made = course_file.course(file, narrowed.names(all_tasks()))
        assert course_trees.secrets(made)[1]
        course_trees.search([book / "student" / "html"], made)
