# SPDX-License-Identifier: MIT
"""Plain words: short sentences, and the field's terms in place of private ones.

words.toml beside this file has the pages under the rule, the phrases with what to write
instead, and the exceptions with their reasons (docs/decisions/0033-plain-words.md).
"""

from __future__ import annotations

import ast
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import ROOT
from tests.house import plain

LIST = tomllib.loads((Path(__file__).parent / "words.toml").read_text())
MOST_WORDS = 20
MOST_EXCEPTIONS = 20
PAGES = sorted({file for glob in LIST["pages"] for file in ROOT.glob(glob)})
HEADERS = sorted({file for glob in LIST["comments"] for file in ROOT.glob(glob)})
LATER = {ROOT / name for name in LIST["heads_later"]}
HEADS = sorted({file for glob in LIST["heads"] for file in ROOT.glob(glob)} - LATER)
NO_HEAD = re.compile(r"(What|Which|Who|Whom|Whose|Where|When|How|Whether|Why)\b|.*\?$")
EXCEPTIONS: dict[str, str] = LIST["exceptions"]


@dataclass(frozen=True)
class Phrase:
    """A regular expression, what to write instead, and sentences that try it out."""

    find: str
    say: str
    wrong: list[str]
    right: list[str]

    def __post_init__(self) -> None:
        assert len(self.wrong) == 2 and len(self.right) == 2, self.find


PHRASES = [Phrase(**entry) for entry in LIST["phrase"]]


def faults(sentence: str) -> list[str]:
    """What is against the rule in a sentence: its length and its phrases."""
    words = plain.length(sentence)
    bad = [f"{words} words"] if words > MOST_WORDS else []
    for phrase in PHRASES:
        if found := re.search(phrase.find, sentence):
            bad.append(f"{found[0]!r}: write {phrase.say}")
    return bad


def held(file: Path) -> list[str]:
    """The sentences of a page that the rule holds."""
    return [
        sentence for text in plain.prose(file) for sentence in plain.sentences(text)
    ]


def excepted(sentence: str) -> bool:
    """Whether an exception is the beginning of this sentence."""
    return any(sentence.startswith(beginning) for beginning in EXCEPTIONS)


@pytest.mark.parametrize("file", PAGES, ids=lambda file: str(file.relative_to(ROOT)))
def test_every_sentence_is_short_and_has_no_private_word(file: Path) -> None:
    bad = [(faults(text), text) for text in held(file) if not excepted(text)]
    lines = [f"{'; '.join(why)}\n    {text}" for why, text in bad if why]
    if lines:
        pytest.fail(f"{len(lines)} sentences:\n" + "\n".join(lines), pytrace=False)


@pytest.mark.parametrize("file", HEADERS, ids=lambda file: str(file.relative_to(ROOT)))
def test_every_sentence_of_a_comment_is_short(file: Path) -> None:
    texts = plain.c_comments(file.read_text())
    found = [sentence for text in texts for sentence in plain.sentences(text)]
    assert found
    assert not [text for text in found if plain.length(text) > MOST_WORDS]


@pytest.mark.parametrize("file", HEADS, ids=lambda file: str(file.relative_to(ROOT)))
def test_a_head_says_what_its_module_does_in_short_sentences(file: Path) -> None:
    found = [text for part in plain.head(file) for text in plain.sentences(part)]
    bad = [f"{'; '.join(faults(text))}\n    {text}" for text in found if faults(text)]
    if found and NO_HEAD.match(found[0]):
        bad.append(f"say what the module does: it is no sentence\n    {found[0]}")
    if bad:
        pytest.fail("\n".join(bad), pytrace=False)


@pytest.mark.parametrize("phrase", PHRASES, ids=lambda phrase: phrase.find)
def test_a_phrase_alarms_where_it_should_and_nowhere_else(phrase: Phrase) -> None:
    assert all(re.search(phrase.find, sentence) for sentence in phrase.wrong)
    assert not any(re.search(phrase.find, sentence) for sentence in phrase.right)


def test_each_page_of_the_list_is_there() -> None:
    assert all(
        list(ROOT.glob(glob))
        for glob in LIST["pages"] + LIST["comments"] + LIST["heads"]
    )


def test_exceptions_are_few_and_needed() -> None:
    assert len(EXCEPTIONS) <= MOST_EXCEPTIONS and all(EXCEPTIONS.values())
    found = [text for file in PAGES for text in held(file) if faults(text)]
    for beginning in EXCEPTIONS:
        assert any(text.startswith(beginning) for text in found), beginning


def test_words_are_counted_as_a_reader_counts_them() -> None:
    assert plain.length("Keep the sum in a register.") == 6
    assert plain.length("grad_input = rstd * (dx - dx.mean(-1)): write it.") == 3
    assert plain.sentences("One. Two (2, 3, ..., 9)? `a. b`!") == [
        "One.",
        "Two (2, 3, ..., 9)?",
        "CODE!",
    ]


def test_code_tables_headings_and_labels_are_left_out() -> None:
    page = "# Head\n\nSay it.\n```\ncode\n```\n| a | b |\n\n1. **Label.** Do.\n   And."
    assert list(plain.blocks(page)) == ["Say it.", "Do. And."]


def test_messages_of_a_module_are_read_without_docstrings_and_patterns() -> None:
    module = '''"""Head of a long module."""
LINE = f"{name} is not of this size: " "make it so."
FIND = r"(?i)a b c \\d"
NAME = "forward"
'''
    found = list(plain.messages(ast.parse(module)))
    assert found == ["`x` is not of this size: make it so."]


def test_comments_in_c_are_read_without_tables_and_labels() -> None:
    source = """/* real.h - numbers
 *
 *   sizes      of the tensor; two
 *              lines
 *     f32      4   8
 *
 *   sum[i] = the sum over k of input[i,k]
 * Say it. */
int x;  /* not this */
"""
    found = list(plain.c_comments(source))
    assert found == ["real.h - numbers", "of the tensor; two lines", "Say it."]


def test_messages_in_c_are_read_with_what_a_format_fills_in():
    source = """// "a comment of some words"
    text("%s has %zu "
         "bytes: read \\"less\\"", name, bytes);
    text("%" PRId64 " of %.1f are not right", n, x);
"""
    assert list(plain.c_messages(source)) == [
        '`x` has `x` bytes: read "less"',
        "`x` of `x` are not right",
    ]
