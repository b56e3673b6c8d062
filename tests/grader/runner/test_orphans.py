# SPDX-License-Identifier: MIT
"""A process whose owner is gone is ended, and no other one is."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.runner.supervisor import orphans
from grader.toolchain import make


@pytest.fixture
def gone() -> int:
    """The number of a process that has ended."""
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


@pytest.fixture
def waiting() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes that are ended behind the test."""
    started: list[subprocess.Popen[bytes]] = []
    yield started
    for process in started:
        process.kill()
        process.wait()


@pytest.mark.parametrize(
    ("name", "owner", "ended"),
    [
        ("bwrap", "gone", True),
        ("bwrap", "here", False),
        ("sleep", "gone", True),  # a compiler without a sandbox
        ("bwrap", "", False),  # another program's
    ],
)
def test_a_process_that_nobody_waits_for_is_ended(
    name: str,
    owner: str,
    ended: bool,
    gone: int,
    waiting: list[subprocess.Popen[bytes]],
    tmp_path: Path,
) -> None:
    program = tmp_path / name
    shutil.copy("/bin/sleep", program)
    owners = {"gone": str(gone), "here": str(os.getpid())}
    words = {make.OWNER: owners[owner]} if owner else {}
    waiting.append(subprocess.Popen([program, "60"], env=words))
    orphans.end()  # or a grading of another test was there first
    if ended:
        assert waiting[0].wait(5) == -signal.SIGKILL
    else:
        assert waiting[0].poll() is None
