# SPDX-License-Identifier: MIT
"""Which pages the book has, what is made of operators.h, and which links hold."""

from __future__ import annotations

import pytest
from signatures import SIGNATURES

from docs.book import build, pages, source
from grader.course.rungs import ROOT
from grader.errors import GraderError

HEADER = (ROOT / pages.HEADER).read_text()


def test_every_text_of_the_repository_is_a_page():
    listed = [page for part in pages.parts(ROOT) for page in part.pages]
    texts = {
        name
        for name in build.tracked("docs", "labs")
        if name.endswith((".md", ".ipynb")) and not name.endswith("AGENTS.md")
    }
    assert texts <= {*listed, pages.FRONT}
    assert len(listed) == len(set(listed))


def test_no_two_pages_have_the_same_title():
    """The list beside every page would offer one of them twice."""
    listed = [page for part in pages.parts(ROOT) for page in part.pages]
    titles = [
        (ROOT / name).read_text().partition("\n")[0]
        for name in listed
        if name.endswith(".md") and name not in pages.MADE
    ]
    assert sorted(set(titles)) == sorted(titles)


def test_every_operator_has_its_formulas_and_its_functions():
    text = pages.operators(HEADER)
    for operator in SIGNATURES:
        section = text.partition(f"\n## {operator}\n")[2].partition("\n## ")[0]
        assert "grad_" in section
        assert f"status_t {operator}_forward(" in section
        assert f"status_t {operator}_backward(" in section


def test_every_size_of_a_shape_is_in_the_table_of_notation():
    table = pages.notation(HEADER).partition("## ")[0]
    for size in ("N", "IC", "IH", "OW", "KD", "G", "R", "D", "H", "P"):
        assert any(size in row.split("|")[1] for row in table.splitlines()[8:])


def test_what_holds_for_every_operator_is_a_table_with_all_its_words():
    """Lines of a block would be cut on a phone."""
    text = pages.notation(HEADER).partition("## What holds")[2]
    assert "```" not in text
    rows = [row.split("|")[1].strip() for row in text.splitlines() if row[:1] == "|"]
    assert rows[2:] == ["arguments", "dtype", "inputs", "outputs", "NULL", "saved",
                        "memory", "result", "coverage"]  # fmt: skip
    said = HEADER.partition("These rules hold for all")[0].partition("Every file")[2]
    ruled = HEADER.partition("all of them:\n")[2].partition(" * Sizes have capital")[0]
    for word in (said + ruled).split():
        assert word == "*" or word.strip("`.,;()") in text, word
    assert "`<operator>_<direction>_check`" in text and "`common/check.c`" in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see `grading.md`", "see [`grading.md`](grading.md)"),
        ("see `common/operators.h`", "[`common/operators.h`](../../operators.md)"),
        ("[a file](../../Makefile)", "a file"),
        ("[how](grading.md#verdicts)", "[how](grading.md#verdicts)"),
        ("[out](https://a.example/b.md)", "[out](https://a.example/b.md)"),
        ("`no_page.md` [x](#here)", "`no_page.md` [x](#here)"),
        ("```\n`grading.md` [a](b)\n```\n", "```\n`grading.md` [a](b)\n```\n"),
    ],
)
def test_links_lead_to_pages_of_the_book(text, expected):
    names = ["docs/guides/report.md", "docs/guides/grading.md", "operators.md"]
    assert expected in source.linked(text, "docs/guides/report.md", names)


def test_an_unknown_edition_is_refused():
    with pytest.raises(GraderError, match="no edition 'teacher'; say instructor or"):
        build.main(["teacher"])


def test_a_warning_of_sphinx_is_an_error(tmp_path):
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "README.md").write_text("# A\n\n[b](missing.md)\n")
    with pytest.raises(GraderError, match=r"missing\.md"):
        build.sphinx(tmp_path, "a book")


def test_a_page_with_a_line_of_a_solution_is_refused(tmp_path):
    rung = (ROOT / "labs/02_naive_c/conv2d/00_definition.c").read_text()
    page = tmp_path / "page.html"
    page.write_text("<pre>nothing</pre>")
    build.search(tmp_path)
    page.write_text("<pre>" + rung.replace("<", "&lt;") + "</pre>")
    with pytest.raises(GraderError, match=r"page\.html would give solutions away"):
        build.search(tmp_path)
