# SPDX-License-Identifier: MIT
r"""The exhibits of a bug hunt: complete, wrong operators, as lab.toml describes them.

    [bug_hunt.05_gathered_pixels]
    operator = "conv_transpose2d"   # what the file is an operator of
    points = 1                      # half for the repair, half for the case
    tool = "odd options"            # what finds such a bug: one of TOOLS
    elements = 20                   # numbers that the inputs of a case may have at most
    verdict = { forward = "WRONG_VALUE" }      # of the file as it was handed out
    mistake = "dilation_ignored"    # its name, or how the grader's words begin
    passes = [{ name = "plain", ... }]         # cases that it passes all the same
    story = ["...", "...", "..."]   # seen where, passed why, found how
    hints = ["...", "...", "..."]   # and other words of a rung: flags, uses ...
    gates = ["opcheck"]             # of lab 05: asked beside values and gradients

Beside the file lies NAME.case.toml: there the student says what exposes the
bug.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from signatures import DIRECTIONS
from signatures.of_exhibits import ALL

from grader.errors import GraderError
from grader.verdicts import Verdict

HUNT = "bug_hunt"  # the folder of a lab, and the table in its lab.toml
CASE = ".case.toml"
CASE_CHECK = "case"  # the check of it, and what takes the place of a direction there
PARTS = (*DIRECTIONS, CASE_CHECK)  # what a file may have a verdict of
TOOLS = (  # the order of docs/guides/bug_museum.md
    "odd sizes",
    "odd options",
    "absent inputs",
    "strided views",
    "integers",
    "large numbers",
    "gradcheck",
    "second derivatives",
    "sanitizer",
    "race report",
    "launch check",
    "opcheck",
    "vmap",
)
WORDS = {
    *("operator", "points", "tool", "elements", "verdict", "mistake"),
    *("passes", "story", "gates"),
}
SENTENCES = 3  # of a story


@dataclass(frozen=True)
class Exhibit:
    """What lab.toml says of one wrong operator."""

    operator: str
    points: float
    tool: str
    elements: int
    verdict: Mapping[str, Verdict]  # direction -> of the file as it was handed out
    passes: tuple[Mapping[str, Any], ...]  # lines of a case file
    story: tuple[str, ...]
    mistake: str = ""
    gates: tuple[str, ...] = ()


def parse(where: str, entry: Mapping[str, Any]) -> Exhibit:
    """An entry of lab.toml. Raises GraderError, which begins with `where`."""
    needed = ("operator", "points", "tool", "elements", "verdict", "passes", "story")
    for word in needed:
        if word not in entry:
            raise GraderError(f"{where} lacks the key {word!r}")
    one_of(where, "operator", entry["operator"], tuple(ALL))
    one_of(where, "tool", entry["tool"], TOOLS)
    for word in ("points", "elements"):
        value = entry[word]
        if not isinstance(value, int | float) or value <= 0:
            raise GraderError(
                f"{where}: {word!r} is {value!r}, expected a number larger than 0"
            )
    for direction, word in entry["verdict"].items():
        one_of(where, "verdict", direction, DIRECTIONS)
        one_of(where, f"verdict.{direction}", word, tuple(map(str, Verdict)))
    story = entry["story"]
    if not isinstance(story, list) or len(story) != SENTENCES:
        raise GraderError(
            f"{where}: 'story' is {story!r}, expected a list of {SENTENCES} sentences"
        )
    return Exhibit(
        entry["operator"],
        float(entry["points"]),
        entry["tool"],
        int(entry["elements"]),
        {d: Verdict(word) for d, word in entry["verdict"].items()},
        tuple(entry["passes"]),
        tuple(story),
        entry.get("mistake", ""),
        tuple(entry.get("gates", ())),
    )


def one_of(where: str, word: str, value: Any, words: tuple[str, ...]) -> None:
    """Raises GraderError for a value that is not known."""
    if value not in words:
        listed = ", ".join(words)
        raise GraderError(f"{where}: {word!r} is {value!r}, expected one of {listed}")
