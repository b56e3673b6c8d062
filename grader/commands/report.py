# SPDX-License-Identifier: MIT
"""`make report` makes the HTML report again from the last results.json."""

from __future__ import annotations

import os

from grader.engine import merge, results
from grader.errors import GraderError
from grader.report import html, terminal


def run() -> int:
    """Write the page. Raises GraderError if there are no results."""
    found = results.read()
    if reason := results.refusal():
        raise GraderError(
            f"{results.near(results.path())} cannot be read: {reason}; run make grade, "
            "which keeps this file under another name and writes a new file"
        )
    if found is None:
        raise GraderError(
            f"there are no results in {results.near(results.path())}; run make grade "
            "first"
        )
    now = merge.standing(found)
    assert now
    terminal.say(os.path.relpath(html.write(now)))
    terminal.remarks(merge.stale_words(found))
    return 0
