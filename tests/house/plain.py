# SPDX-License-Identifier: MIT
"""The sentences that students and instructors read: of Markdown, notebooks, lab.toml,
and the messages in a module of Python or a file in C or C++.

Fenced code, tables, headings and labels of lists are left out. A formula, a link and a
piece of code count as one word.
"""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

NOT_PROSE = re.compile(
    r"(?ms)^ *(```|~~~).*?^ *\1|^\$\$.*?\$\$|<!-- run.*?-->|<style.*?</style>"
)
MARKER = re.compile(r"<!-- ?/?(repository|handout)(?: ?-->)?|-->|<[^<>\n]*>")
ASIDE = re.compile(r"^ *(\||#|!\[|:::)")  # a row of a table, a heading, a picture
ITEM = re.compile(r"^ *(?:[-*]|\d+\.) +")
LABEL = re.compile(r"^ *(\*\*[^*]+\*\*|`[^`]+`|\[[^]]*\]\([^)]*\))(?:, \w+)?[:.]? ")
ONE_WORD = re.compile(r"`[^`]+`|\$[^$\n]+\$|!?\[[^]]*\]\([^)]*\)")
END = re.compile(r"(?<!\.\.)(?<!e\.g)(?<!i\.e)(?<=[.?!])[)\"'*]*(?:\s+|$)")
WORD = re.compile(r"[A-Za-z]{2}[a-z'’-]*|[aAI]|\d+")
OPERATOR = re.compile(r"[-+*/@<>=!|&%^x]+")
INDENTED = re.compile(r"(?m)^    .*$")
NO_SENTENCE = re.compile(  # but a regular expression or a program
    r"(?m)\\|\(\?|^import |^CREATE TABLE "
)
C_COMMENT = re.compile(r"(?ms)/\*.*?\*/|//[^\n]*|^#[^\n]*")
C_BLOCK = re.compile(r"(?ms)^ *(/\*.*?)\*/")
C_MARGIN = re.compile(r"^ *(?:/?\*)? ?")
C_HEAD = re.compile(r"(?s)(?://[^\n]*\n)*/\*.*?\*/")
C_LABEL = re.compile(r"^ +[*\w]+ {2,}(?=\S)")
FORMULA = re.compile(r"\w+(\[[^]]*\])? += ")  # at the beginning of a line
COLUMNS = re.compile(r"\S {3,}\S")
C_STRING = r'"(?:[^"\\\n]|\\.)*"'
C_STRINGS = re.compile(rf"{C_STRING}(?:\s*(?:PRI\w+\s*)?{C_STRING})*")
C_FILLED_IN = re.compile(r'%?"\s*PRI\w+\s*"|%[-\d.*]*(?:zu|l*[dufgxscp])')
FOUND = re.compile(r"\\\d")  # a group of a pattern, in what takes the pattern's place
LEAST_WORDS = 4  # of a message; what is shorter is a name or a part of one


def blocks(markdown: str, *, labels: bool = False) -> Iterator[str]:
    """Paragraphs and items of lists, each as one line, perhaps with their labels."""
    lines: list[str] = []
    for line in [*MARKER.sub("", NOT_PROSE.sub("\n", markdown)).splitlines(), ""]:
        item = ITEM.match(line)
        if lines and (not line.strip() or item or ASIDE.match(line)):
            yield " ".join(lines)
            lines = []
        if line.strip() and not ASIDE.match(line):
            text = line[item.end() :] if item else line.strip()
            lines.append(LABEL.sub("", text) if item and not labels else text)


def sentences(text: str) -> list[str]:
    """What ends with a full stop, a question mark or an exclamation mark."""
    return [
        part.strip() for part in END.split(ONE_WORD.sub("CODE", text)) if part.strip()
    ]


def length(sentence: str) -> int:
    """Its words. A formula, an identifier and a piece of code are one word each."""
    tokens = ["", *sentence.split(), ""]
    count, inside = 0, False
    for before, token, after in zip(tokens, tokens[1:], tokens[2:]):
        formula = not WORD.fullmatch(token.strip(".,;:?!()\"'*"))
        formula |= bool(OPERATOR.fullmatch(before) or OPERATOR.fullmatch(after))
        count += not (formula and inside)
        inside = formula and not token.endswith((",", ";", ":"))
    return count


def prose(file: Path) -> Iterator[str]:
    """The paragraphs of a page or a notebook; the titles and hints of a lab.toml; the
    messages of a module.
    """
    if file.suffix == ".py":
        yield from messages(ast.parse(file.read_text()))
    elif file.suffix in (".c", ".cpp", ".h"):
        yield from c_messages(file.read_text())
    elif file.suffix == ".toml":
        yield from _texts(tomllib.loads(file.read_text()))
    elif file.suffix == ".ipynb":
        for cell in json.loads(file.read_text())["cells"]:
            if cell["cell_type"] == "markdown":
                yield from blocks("".join(cell["source"]))
    else:
        yield from blocks(file.read_text())


def messages(module: ast.AST) -> Iterator[str]:
    """Its strings of several words, but for docstrings and regular expressions. What an
    f-string fills in counts as a piece of code.
    """
    left_out: set[int] = set()  # docstrings, and what was taken as part of an f-string
    for node in ast.walk(module):  # parents before their children
        text = ""
        if isinstance(node, ast.Expr):
            left_out.add(id(node.value))
        elif isinstance(node, ast.JoinedStr):
            left_out |= {id(part) for part in node.values}
            parts = [getattr(part, "value", None) for part in node.values]
            text = "".join(p if isinstance(p, str) else "`x`" for p in parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = "" if id(node) in left_out else FOUND.sub("`x`", node.value)
        if not NO_SENTENCE.search(text) and len(text.split()) >= LEAST_WORDS:
            yield text


def c_messages(source: str) -> Iterator[str]:
    """The same of C and C++. What a format fills in counts as a piece of code."""
    for strings in C_STRINGS.findall(C_COMMENT.sub("", source)):
        text = re.sub(r'"\s*"', "", C_FILLED_IN.sub("`x`", strings)[1:-1])
        text = text.replace(r"\n", "\n").replace(r"\"", '"')
        if not NO_SENTENCE.search(text) and len(text.split()) >= LEAST_WORDS:
            yield text


def c_comments(source: str, *, labels: bool = False) -> Iterator[str]:
    """The paragraphs of its block comments. A row of a table and a formula are left
    out; a word in front of a paragraph, with a column between, is its label.
    """
    for block in C_BLOCK.findall(source):
        lines: list[str] = []
        for line in [*(C_MARGIN.sub("", line) for line in block.splitlines()), ""]:
            label = C_LABEL.match(line)
            row = COLUMNS.search(line[label.end() :] if label else line.strip())
            row = row or FORMULA.match(line.strip())
            if lines and (label or row or not line.strip()):
                yield " ".join(lines)
                lines = []
            if line.strip() and not row and not line.startswith("----"):
                begin = label.end() if label and not labels else 0
                lines.append(line[begin:].strip())


def head(file: Path) -> Iterator[str]:
    """The paragraphs of a module's docstring, or of a head comment in C after its file
    name. Indented examples and command lines are left out.
    """
    source = file.read_text()
    if file.suffix == ".py":
        text = ast.get_docstring(ast.parse(source)) or ""
        yield from blocks(INDENTED.sub("", text))
    elif block := C_HEAD.match(source):
        first, *others = c_comments(block[0])
        yield re.sub(r"^\S+ - ", "", first)
        yield from others


def _texts(entry: dict[str, object]) -> Iterator[str]:
    for key, value in entry.items():
        if isinstance(value, dict):
            yield from _texts(value)
        elif key == "title":
            yield str(value)
        elif key in ("hints", "story", "goals") and isinstance(value, list):
            yield from value
