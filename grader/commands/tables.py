# SPDX-License-Identifier: MIT
"""`make tables` writes the measured tables into the READMEs of the labs again.

It also writes the exhibits of the bug hunts into docs/guides/bug_museum.md. This page
repeats lab.toml's words about every exhibit, ordered by the tool that finds such a bug.
They are between the markers `<!-- exhibits -->` and `<!-- end exhibits -->`.
"""

from __future__ import annotations

import re

from grader.course.exhibits import TOOLS
from grader.course.rungs import ROOT, Rung
from grader.course.tasks import all_tasks
from grader.engine import results
from grader.report import tables as pages
from grader.report import terminal

PAGE = ROOT / "docs" / "guides" / "bug_museum.md"
_REGION = re.compile(r"(<!-- exhibits -->\n).*?(<!-- end exhibits -->\n)", re.S)
MEANING = {  # of a tool: what it does
    "odd sizes": "Test with sizes that differ from axis to axis and are not multiples "
    "of a small number.",
    "odd options": "Test with a stride, padding, dilation and number of groups larger "
    "than 1. Use different options for height and width.",
    "absent inputs": "Test without each optional input, and with gradients that are "
    "not wanted.",
    "strided views": "Test with transposed, non-contiguous and expanded tensors. They "
    "hold the same numbers in another order of memory.",
    "integers": "Test with integers that the dtype represents exactly. Then one lost "
    "bit is visible.",
    "large numbers": "Test with numbers of very different sizes in one tensor.",
    "gradcheck": "gradcheck compares a gradient with finite differences of the same "
    "forward.",
    "second derivatives": "Compute the gradient of a gradient.",
    "sanitizer": "AddressSanitizer and UBSan check every access to memory.",
    "race report": "A race checker records every memory access of every thread. It "
    "reports two accesses that nothing orders.",
    "launch check": "After each launch the code checks for an error.",
    "opcheck": "opcheck is PyTorch's own test of an operator: schema, fake kernel, "
    "autograd.",
    "vmap": "torch.vmap calls an operator with a batch axis that the operator does not "
    "see. The grader adds this axis to any of the arguments.",
}
LABELS = ("The code", "Why tests passed", "How to find the bug")  # of a story


def run() -> int:
    """Fill the marked places."""
    changed = [results.near(page) for page in pages.write()]
    changed += [results.near(PAGE)] if write() else []
    terminal.say(", ".join(changed) or "every table is up to date")
    return 0


# ---- the bug museum ------------------------------------------------------------------


def filled(text: str) -> str:
    """The page with its exhibits made anew."""
    body = "\n".join(_sections())
    return _REGION.sub(lambda match: f"{match[1]}{body}\n{match[2]}", text)


def write() -> bool:
    """Bring the page up to date; whether it has changed."""
    before = PAGE.read_text(encoding="utf-8")
    after = filled(before)
    PAGE.write_text(after, encoding="utf-8")
    return after != before


def exhibits() -> list[Rung]:
    """All of them, in the order of the course."""
    return [rung for task in all_tasks() if task.is_hunt for rung in task.rungs]


def _sections() -> list[str]:
    made: list[str] = []
    for tool in TOOLS:
        found = [r for r in exhibits() if r.exhibit and r.exhibit.tool == tool]
        if found:
            made += [f"## {tool.capitalize()}", "", MEANING[tool], ""]
            made += [line for rung in found for line in _exhibit_lines(rung)]
    return made


def _exhibit_lines(rung: Rung) -> list[str]:
    """One exhibit: its story under LABELS."""
    assert rung.exhibit
    story = zip(LABELS, rung.exhibit.story, strict=True)
    lines = [f"**[`{rung.id}`](../../{rung.shown})**", ""]
    lines += [*(f"- **{label}.** {text}" for label, text in story), ""]
    return lines
