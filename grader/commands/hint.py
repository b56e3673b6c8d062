# SPDX-License-Identifier: MIT
"""Hints of rising detail: each call of `make hint` shows one more."""

from __future__ import annotations

import argparse

from grader.course.tasks import select
from grader.engine import results
from grader.errors import GraderError
from grader.report import terminal


def run(args: argparse.Namespace) -> int:
    """Print the hints seen so far and the next one."""
    wanted: str | None = args.task
    if not wanted:
        raise GraderError("say which task: make hint T=02_naive_c/conv2d")
    task = select(wanted).tasks[0]
    if not task.hints:
        raise GraderError(f"{task.id} has no hints")
    results.make_folder(results.folder())
    counter = results.folder() / f"hints-{task.id.replace('/', '-')}"
    seen = int(counter.read_text()) if counter.exists() else 0
    seen = min(seen + 1, len(task.hints))
    counter.write_text(str(seen))
    for number, text in enumerate(task.hints[:seen], start=1):
        terminal.say(f"hint {number} of {len(task.hints)}: {text}")
    return 0
