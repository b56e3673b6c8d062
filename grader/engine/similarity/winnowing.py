# SPDX-License-Identifier: MIT
"""Makes the fingerprints of a source by winnowing.

The tokens come from pygments. Names, comments and blanks do not count. Each group of
GROUP tokens has a hash. Of WINDOW neighbouring hashes the smallest one is kept. So two
sources with GROUP + WINDOW - 1 equal tokens in a row share a fingerprint.

Schleimer, Wilkerson, Aiken: Winnowing: Local Algorithms for Document Fingerprinting,
SIGMOD 2003.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from pygments.lexer import Lexer
from pygments.lexers import CLexer, CppLexer, PythonLexer
from pygments.token import Comment, Literal, Name, _TokenType

GROUP, WINDOW = 10, 4  # tokens, hashes
LEXERS: dict[str, type[Lexer]] = {
    ".c": CLexer,
    ".h": CLexer,
    ".cu": CppLexer,
    ".cpp": CppLexer,
    ".py": PythonLexer,
}
NAME, STRING = "N", "S"  # what stands for every name, and for every text
FIELD = (".", "->")  # stands before a field; -> is two tokens

Fingerprints = dict[int, list[tuple[int, int]]]  # hash -> first and last line


def tokens(text: str, suffix: str) -> Iterator[tuple[str, int]]:
    """Each token that counts, and its line. A field keeps its name: nobody can rename
    the fields of a contract.
    """
    line, before = 1, ""
    for kind, word in LEXERS[suffix](stripnl=False).get_tokens(text):
        if shown := _shown(kind, word, before):
            yield shown, line
            before = (before + word)[-2:]
        line += word.count("\n")


def _shown(kind: _TokenType, word: str, before: str) -> str:
    """What a token counts as; "" if it does not count."""
    if kind in Comment or kind in Literal.String.Doc:
        return ""
    if kind in Name:
        return word if before.endswith(FIELD) else NAME
    return STRING if kind in Literal.String else word.strip()


def fingerprints(text: str, suffix: str) -> Fingerprints:
    """The hashes that winnowing keeps, and the lines that each one comes from."""
    found = list(tokens(text, suffix))
    words = [word for word, _ in found]
    hashes = [
        _hash("\0".join(words[i : i + GROUP])) for i in range(len(words) - GROUP + 1)
    ]
    kept: Fingerprints = {}
    last = -1
    for begin in range(len(hashes) - WINDOW + 1):
        window = range(begin, begin + WINDOW)
        at = min(window, key=lambda i: (hashes[i], -i))  # the last of equal ones
        if at != last:
            place = found[at][1], found[at + GROUP - 1][1]
            kept.setdefault(hashes[at], []).append(place)
            last = at
    return kept


def _hash(text: str) -> int:
    """The same in every run; Python's own hash of a text is not."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
