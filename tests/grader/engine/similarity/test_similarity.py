# SPDX-License-Identifier: MIT
"""Copies rank above files that nobody copied, and what the course gives does not count.

python -m tests.proofs.similarity measures the first with all files of the repository.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from grader.commands import cli
from grader.course import rungs
from grader.engine.similarity import pairs, winnowing
from grader.engine.similarity.known_text import Given
from grader.engine.similarity.pairs import Source
from grader.errors import GraderError
from grader.handout import course_trees
from grader.solution_marks import solved, starter
from tests import put
from tests.grader.course.offered import TEXT
from tests.proofs import planted, similarity

GELU = "labs/02_naive_c/gelu/00_definition.c"
HUNT = "labs/02_naive_c/bug_hunt/05_gathered_pixels.c"
RIGHT = similarity.RIGHT / "gelu"
WORDS = ("for", "(", ")", "{", "}", "=", "+", "*", ";", "0", "1", "if", "<")


def right(name: str) -> str:
    """A right solution of somebody who had not seen the reference."""
    return (RIGHT / name).read_text()


def nothing(topic: str) -> set[int]:
    return set()


def source(who: str, text: str, place: str = GELU) -> Source:
    return Source(who, place, text, pairs.topic_of(place))


# ---- fingerprints --------------------------------------------------------------------


def test_texts_with_enough_equal_tokens_share_a_fingerprint():
    """The guarantee of winnowing, for the shortest piece that it holds for."""
    chance = random.Random(5)

    def some(count: int) -> list[str]:
        return chance.choices(WORDS, k=count)

    for _ in range(200):
        both = some(winnowing.GROUP + winnowing.WINDOW - 1)
        one, other = (" ".join([*some(30), *both, *some(30)]) for _ in range(2))
        marks = [set(winnowing.fingerprints(text, ".c")) for text in (one, other)]
        assert marks[0] & marks[1]


def test_names_comments_and_blanks_do_not_count_but_fields_do():
    def words(text: str) -> list[str]:
        return [word for word, _ in winnowing.tokens(text, ".c")]

    plain = words("for (int64_t i = 0; i < n; i++) y[i] = p.alpha;")
    assert words("for(int64_t k=0;k<m;k++) // all\n z[k] = q.alpha;") == plain
    assert words("for (int64_t i = 0; i < n; i++) y[i] = p.stride_h;") != plain
    assert [line for _, line in winnowing.tokens("a\n/* b\n*/ c", ".c")] == [1, 3]


# ---- pairs ---------------------------------------------------------------------------


def test_a_copy_ranks_above_every_pair_that_nobody_copied():
    few = ("add", "gelu", "layer_norm", "linear", "unfold")
    found = [one for one in similarity.honest() if one.topic in few]
    ranked = similarity.ranking(found, 7, similarity.given())
    copies = [one.score for one in ranked if similarity.is_copy(one)]
    honest = [one.score for one in ranked if similarity.is_honest(one)]
    assert len(copies) == similarity.PLANTED and len(honest) > 100
    assert min(copies) > max(honest) + 0.05


def test_a_copy_is_another_text():
    text = right("forward_branches.c")
    copy = planted.copied(text, ".c", 3)
    assert copy != text and copy == planted.copied(text, ".c", 3)
    assert "a loop for each form" not in copy and "gelu_forward" in copy
    assert len(set(text.split()) & set(copy.split())) < len(set(text.split())) / 1.5


def test_the_lines_that_both_have_are_marked():
    both = right("forward_chance.c")
    found = [source("a", both), source("b", f"int x;\n\n{both}")]
    (pair,) = pairs.ranked(found, nothing, most=9)
    assert pair.score == 1 and {n + 2 for n in pair.lines[0]} == pair.lines[1]
    assert len(pair.lines[0]) > 0.8 * len(both.splitlines()) - 5


def test_files_of_one_student_and_of_two_operators_are_no_pair():
    text = right("forward_chance.c")
    one, again = (
        source("a", text, f"labs/02_naive_c/gelu/0{n}_mine.c") for n in (0, 1)
    )
    assert not pairs.ranked([one, again], nothing, most=9)
    other = source("b", text, "labs/02_naive_c/add/00_broadcast.c")
    assert not pairs.ranked([one, other], nothing, most=9)
    other = source("b", text, "labs/03_im2col_cpu/gelu/00_libm.c")
    assert len(pairs.ranked([one, other], nothing, most=9)) == 1


def test_what_most_of_a_class_has_says_nothing():
    text = right("forward_chance.c")
    many = [source(f"student {n}", text) for n in range(pairs.MANY + 1)]
    assert pairs.ranked(many[:-1], nothing, most=1)
    assert not pairs.ranked(many, nothing, most=1)


# ---- what the course gives -----------------------------------------------------------


@pytest.fixture
def tree(tmp_path) -> Path:
    """A handout with two files."""
    for place in (GELU, HUNT):
        put(tmp_path / "tree" / place, starter((rungs.ROOT / place).read_text()))
    return tmp_path / "tree"


@pytest.mark.parametrize("make", [starter, solved])
@pytest.mark.parametrize("place", [GELU, HUNT])
def test_starters_and_solutions_do_not_count(tree, place, make):
    text = make((rungs.ROOT / place).read_text())
    both = [source(who, text, place) for who in "ab"]
    given = Given(tree, rungs.ROOT)
    assert not pairs.ranked(both, given.of, most=9)
    if make is solved and place == GELU:  # a repair alone is too short
        assert pairs.ranked(both, Given(tree, None).of, most=9)


# ---- the command ---------------------------------------------------------------------


@pytest.fixture
def inbox(tmp_path, monkeypatch) -> Path:
    """Three students of whom two have one text."""
    monkeypatch.setattr(course_trees, "_try_hidden", lambda made: None)
    build = tmp_path / "build"
    tree = build / "handout" / "two_labs" / "student"
    put(tree / GELU, starter((rungs.ROOT / GELU).read_text()))
    put(tree / "MANIFEST")
    folder = tmp_path / "inbox"
    text = right("forward_chance.c")
    put(folder / "alice" / GELU, text)
    put(folder / "=bob" / GELU, planted.copied(text, ".c", 2))
    put(folder / "carol" / GELU, right("forward_branches.c"))
    put(folder / "dave.rar", "Rar!")
    for name, value in {
        "CONVLAB_BUILD": build,
        "DESK": tmp_path / "desk",
        "COURSE": put(tmp_path / "course.toml", TEXT),
        "SUBMISSIONS": folder,
    }.items():
        monkeypatch.setenv(name, str(value))
    return folder


def test_the_command_shows_the_pair_side_by_side(inbox, tmp_path, capsys):
    assert cli.run("similar") == 0
    assert "not compared: dave" in capsys.readouterr().out
    folder = tmp_path / "desk" / "two_labs" / "exports"
    rows = (folder / "similar.csv").read_text().splitlines()
    assert rows[1].endswith(f",'=bob,{GELU},alice,{GELU}")
    assert float(rows[1].partition(",")[0]) > 0.8
    text = (folder / "similar.html").read_text()
    assert text.index("<h4>=bob and alice</h4>") < text.index("chance(double x")
    assert "no proof" in text and text.count("<mark>") > 20


def test_the_command_needs_the_submissions(inbox, monkeypatch):
    monkeypatch.delenv("SUBMISSIONS")
    with pytest.raises(GraderError, match="name the folder of the submissions"):
        cli.run("similar")
