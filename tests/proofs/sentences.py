# SPDX-License-Identifier: MIT
"""Draws 60 sentences for readers: are they understood at first reading?

    python -m tests.proofs.sentences [COMMIT]

The commit's hash fixes the draw, so nobody chooses the sentences. Each one is printed
in its paragraph, between >> and <<, as a student or an instructor meets it. Of the 20
messages 12 are what the grader prints of a wrong submission, which is graded for it.
Eight are refusals; a value that a refusal fills in is printed as <the expression>.

A reader who has not seen the project reads the README and the first hour, then each
sentence once, and writes down what it says.
"""

from __future__ import annotations

import ast
import random
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from grader.toolchain import make
from tests import ROOT
from tests.grader.diagnosis.student_mistakes import graded_whole
from tests.house import plain
from tests.house.student_mistakes import student_mistakes
from tests.proofs.mutations.frame import processes
from tests.proofs.mutations.graded_once import ready

Found = tuple[str, str, str]  # where it stands, the paragraph, the sentence

HINTS = ("labs/*/lab.toml",)
REFUSALS = ("grader/**/*.py",)
PAGES = ("README.md", "docs/guides/*.md", "labs/*/README.md")
COMMENTS = ("common/*.h", *(f"labs/*/*/[0-9]*.{end}" for end in ("c", "cu", "py")))
FEWEST = 4  # words of a sentence that may be drawn


def files(globs: Sequence[str]) -> list[Path]:
    """The files of these globs, in one fixed order."""
    return sorted({file for glob in globs for file in ROOT.glob(glob)})


def parts(paragraph: str) -> list[str]:
    """The sentences of a paragraph, with their code and formulas as they stand."""
    found = (part.strip() for part in plain.END.split(paragraph))
    return [part for part in found if plain.length(part) >= FEWEST]


def pages() -> list[Found]:
    """All sentences of pages."""
    return [
        (str(file.relative_to(ROOT)), paragraph, sentence)
        for file in files(PAGES)
        for paragraph in plain.blocks(file.read_text(), labels=True)
        for sentence in parts(paragraph)
    ]


def hints() -> list[Found]:
    """All sentences of hints and stories, each after the hints that were printed
    before.
    """
    return [
        (str(file.relative_to(ROOT)), "\n    ".join(texts[: i + 1]), sentence)
        for file in files(HINTS)
        for texts in _lists(tomllib.loads(file.read_text()))
        for i, text in enumerate(texts)
        for sentence in parts(text)
    ]


def _lists(entry: dict[str, Any]) -> Iterator[list[str]]:
    for key, value in entry.items():
        if isinstance(value, dict):
            yield from _lists(value)
        elif key in ("hints", "story"):
            yield value


def comments() -> list[Found]:
    """All sentences of the comments that a student reads above code."""
    return [
        (str(file.relative_to(ROOT)), paragraph, sentence)
        for file in files(COMMENTS)
        for paragraph in (
            plain.head(file)
            if file.suffix == ".py"
            else plain.c_comments(file.read_text(), labels=True)
        )
        for sentence in parts(paragraph)
    ]


def refusals() -> list[Found]:
    """All sentences of what a command raises when it refuses."""
    return [
        (f"make refuses ({file.relative_to(ROOT)})", text, sentence)
        for file in files(REFUSALS)
        for text in _raised(ast.parse(file.read_text()))
        for sentence in parts(text)
    ]


def _raised(module: ast.AST) -> Iterator[str]:
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Error"):
            for argument in node.args[:1]:
                if isinstance(argument, ast.JoinedStr | ast.Constant):
                    yield _filled_in(argument)


def _filled_in(text: ast.JoinedStr | ast.Constant) -> str:
    """A string with the expressions of its values."""
    values = text.values if isinstance(text, ast.JoinedStr) else [text]
    return "".join(
        f"<{ast.unparse(value.value)}>"
        if isinstance(value, ast.FormattedValue)
        else str(getattr(value, "value", ""))
        for value in values
    )


def printed(draw: random.Random, count: int) -> Iterator[Found]:
    """One sentence for each of `count` wrong submissions, of all that is printed. A
    submission that no check finds is left out.
    """
    order = student_mistakes()
    draw.shuffle(order)
    make.build_tools()
    with processes(2, ready) as pool:
        while count > 0:
            chosen, order = order[:count], order[count:]
            for mistake, (said, _) in zip(
                chosen, pool.map(graded_whole, chosen), strict=True
            ):
                if said:
                    texts = [
                        text for text in (said[0].message, said[0].diagnosis) if text
                    ]
                    sentence = draw.choice([s for text in texts for s in _spoken(text)])
                    where = f"printed for {mistake.rung}, {said[0].verdict}"
                    yield where, "\n    ".join(texts), sentence
                    count -= 1


def _spoken(text: str) -> list[str]:
    """The sentences of a message, without the student's own line at its end."""
    return parts(text.partition("; the line is:")[0])


def show(kind: str, found: Sequence[Found]) -> None:
    """Print sentences in their paragraphs, with numbers."""
    print(f"\n## {kind}\n")
    for i, (where, paragraph, sentence) in enumerate(found, 1):
        before, _, after = paragraph.rpartition(sentence)
        marked = f"{before}>>{sentence}<<{after}"
        print(f"{kind} {i}, {where}\n    {marked}\n")


def main() -> None:
    """Print the draw of a commit, the last one if none is named."""
    name = sys.argv[1] if len(sys.argv) > 1 else "HEAD"
    found = subprocess.run(
        ["git", "rev-parse", name], cwd=ROOT, capture_output=True, text=True, check=True
    )
    commit = found.stdout.strip()
    draw = random.Random(commit)
    print(f"Drawn by {commit}")
    show("hint", draw.sample(hints(), 15))
    show("page", draw.sample(pages(), 15))
    show("comment", draw.sample(comments(), 10))
    show("refusal", draw.sample(refusals(), 8))
    show("message", list(printed(draw, 12)))


if __name__ == "__main__":
    main()
