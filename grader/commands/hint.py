# SPDX-License-Identifier: MIT
"""Hints of rising detail: each call of `make hint` shows one more."""

from __future__ import annotations

import argparse

from grader.course.tasks import select
from grader.engine.hints import one_more
from grader.errors import GraderError
from grader.report import terminal


def run(args: argparse.Namespace) -> int:
    """Print the hints seen so far and the next one."""
    wanted: str | None = args.task
    if not wanted:
        raise GraderError("say which task: make hint T=02_naive_c/conv2d")
    task = select(wanted).tasks[0]
    for number, text in enumerate(one_more(task), start=1):
        terminal.say(f"hint {number} of {len(task.hints)}: {text}")
    return 0
