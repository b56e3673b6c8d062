# SPDX-License-Identifier: MIT
"""Which pages the book has, and those that are made of `common/operators.h`."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
HEADER = "common/operators.h"
FRONT = "README.md"

_SECTION = re.compile(
    r"/\* ---- (?P<name>\w+) -+\n(?P<text>.*?)\*/\n(?P<code>.*?)(?=\n/\* ----|\Z)", re.S
)
_PROTOTYPE = re.compile(r"^status_t \w+\([^;]*;", re.M)
_RULE = re.compile(r"^  (?P<what>\w+)  (?P<text>.*\n(?: {4,}.*\n)*)", re.M)
_LETTER = re.compile(r"((?:\.\.\.|[A-Z]{1,2})(?: [A-Z]{1,2})*) ([a-z][^A-Z.]*)")


@dataclass(frozen=True)
class Part:
    """A part of the book: its title and its pages, as paths from the root."""

    title: str
    pages: tuple[str, ...]


def parts(root: Path) -> list[Part]:
    """The parts of contents.toml with the pages that this tree has."""
    listed = tomllib.loads((HERE / "contents.toml").read_text(encoding="utf-8"))["part"]
    taken = {page for part in listed for page in part["pages"]} | {FRONT}
    found = []
    for part in listed:
        pages: list[str] = []
        for name in part["pages"]:
            if "*" in name:
                files = sorted(str(path.relative_to(root)) for path in root.glob(name))
                pages += [file for file in files if file not in taken]
            elif name in MADE or (root / name).is_file():
                pages.append(name)
        if pages:
            found.append(Part(part["title"], tuple(pages)))
    return found


def operators(header: str) -> str:
    """A section for each operator: what its comment says, and its prototypes."""
    lines = [
        "# The ten operators",
        "",
        "The text of `common/operators.h`, which every lab shares: PyTorch's name, the",
        "formulas of forward and backward, shapes, and the functions in C.",
        "",
    ]
    for match in _SECTION.finditer(header):
        comment = [line[3:] for line in match["text"].splitlines() if line.strip()[:1]]
        lines += [f"## {match['name']}", "", "```text", *comment, "```", ""]
        prototypes = _PROTOTYPE.findall(match["code"])
        if prototypes:
            lines += ["```c", "\n".join(prototypes), "```", ""]
    return "\n".join(lines)


def notation(header: str) -> str:
    """The table of sizes, and what holds for all operators."""
    head = header.partition("*/")[0]
    rules, _, alphabet = head.partition(" * Sizes have capital letters.")
    text = " ".join(line.lstrip(" *") for line in alphabet.splitlines()[1:])
    rows = [f"| {m[1]} | {m[2].strip()} |" for m in _LETTER.finditer(text)]
    said = "\n".join(line[3:] for line in rules.splitlines()[2:])
    said, _, ruled = said.partition("These rules hold for all operators:\n")
    held = [
        f"| {m['what']} | {_words(m['text'])} |" for m in _RULE.finditer(f"{ruled}\n")
    ]
    return "\n".join(
        [
            "# Notation",
            "",
            "One alphabet for sizes in every lab. A small letter is an index over its",
            "size: `oc` counts the `OC` channels of the output.",
            "",
            "| size | of what |",
            "|---|---|",
            *rows,
            "",
            "## What holds for every operator",
            "",
            _words(said),
            "",
            "| of | what holds |",
            "|---|---|",
            *held,
            "",
        ]
    )


def _words(text: str) -> str:
    """A comment's lines as one line of Markdown, its names in code quotes."""
    line = " ".join(text.split())
    return re.sub(r"(?<![`\w])[\w<>/-]*[_>/][\w<>/.]*\w", r"`\g<0>`", line)


MADE = {"operators.md": operators, "notation.md": notation}
