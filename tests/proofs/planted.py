# SPDX-License-Identifier: MIT
"""Makes the copy of a source that a student hopes nobody recognises, from a seed.

The copy has other names, its functions in another order, and other comments. It need
not compile: nobody builds it.
"""

from __future__ import annotations

import builtins
import functools
import random
import re

from pygments.token import Comment, Literal, Name

from grader.engine.similarity.winnowing import LEXERS
from tests import ROOT

NOUNS = "value", "item", "count", "place", "total", "step", "limit", "first", "part"
SAYINGS = (
    "go through everything once",
    "this is the main part",
    "check the borders first",
    "the result goes here",
    "same as in the lecture",
)
_END = {".py": r"(?m)^(?=def |class |@)", ".c": r"(?m)(?<=^\}\n)"}


def copied(text: str, suffix: str, seed: int) -> str:
    """The copy of a source."""
    chance = random.Random(seed)
    plain = _renamed(text, suffix, chance)
    return _commented(_reordered(plain, suffix, chance), suffix, chance)


def _renamed(text: str, suffix: str, chance: random.Random) -> str:
    """The text without its comments, and with names of the copy's own."""
    made: dict[str, str] = {}
    words, before = [], ""
    for kind, word in LEXERS[suffix](stripnl=False).get_tokens(text):
        if kind in Comment.Preproc or kind in Comment.PreprocFile:
            words.append(word)
            continue
        if kind in Comment or kind in Literal.String.Doc:
            words.append("\n" * word.count("\n"))
            continue
        field = before.endswith((".", "->"))
        own = kind in Name and not field and not _fixed(word, suffix)
        if own and word not in made:
            made[word] = f"{chance.choice(NOUNS)}_{len(made)}"
        words.append(made[word] if own else word)
        before = (before + word.strip())[-2:]
    return re.sub(r"\n[ \n]*\n", "\n\n", "".join(words))


def _fixed(word: str, suffix: str) -> bool:
    """Whether a name comes from elsewhere, so that a copy has to keep it."""
    if suffix == ".py":
        return hasattr(builtins, word) or word.startswith(("@", "torch"))
    return word in _contract() or word.endswith(("_forward", "_backward"))


@functools.cache
def _contract() -> frozenset[str]:
    """The types, functions and constants of the headers."""
    texts = [file.read_text() for file in (ROOT / "common").glob("*.h")]
    known = r"\w+(?=\()|\w+_t\b|[A-Z]\w*_\w+|accum|real"
    return frozenset(word for text in texts for word in re.findall(known, text))


def _reordered(text: str, suffix: str, chance: random.Random) -> str:
    """Its functions in another order, behind what stands above them."""
    head, *parts = re.split(_END[".py" if suffix == ".py" else ".c"], text)
    if suffix != ".py":  # the first function stands behind the includes
        lines = head.splitlines(keepends=True)
        last = max((i for i, x in enumerate(lines) if x.startswith("#")), default=-1)
        head, first = "".join(lines[: last + 1]), "".join(lines[last + 1 :])
        parts = [first, *parts]
    chance.shuffle(parts)
    return "\n".join([head, *parts])


def _commented(text: str, suffix: str, chance: random.Random) -> str:
    """With a comment above every few lines."""
    mark = "#" if suffix == ".py" else "//"
    lines = []
    for line in text.splitlines():
        if line.strip() and chance.random() < 0.2:
            blanks = " " * (len(line) - len(line.lstrip()))
            lines.append(f"{blanks}{mark} {chance.choice(SAYINGS)}")
        lines.append(line)
    return "\n".join(lines) + "\n"
