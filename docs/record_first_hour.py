# SPDX-License-Identifier: MIT
"""Records docs/guides/first_hour.md anew: plays a student in an unpacked handout.

    python docs/record_first_hour.py [convlab-handout.tar.gz]

Comments in the page say what happens, in order: `<!-- run: COMMAND -->` replaces the
block behind it by the command's output; `<!-- write: RUNG -->` writes the reference's
file, `... forward -->` its forward only, `... with A for B -->` with a mistake.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "guides" / "first_hour.md"
STEP = re.compile(r"<!-- (run|write): (.*?) -->\n(```\n.*?```\n)?", re.S)
WIDTH = "90"
ATTEMPTS = 4
# what a pipe gets where a terminal has a bar: how far the grader is
PROGRESS = re.compile(r"\S+: .*\(\d+/\d+ files\)$|\S+/\S+: speed \w+$")
sys.path[:0] = [str(ROOT), str(ROOT / "common" / "python")]


def write(tree: Path, order: str) -> None:
    """Put (a part of) a reference's file in the place of its starter."""
    from grader.commands.handout import starter

    order, _, mistake = order.partition(" with ")
    rung, _, direction = order.partition(" ")
    name = f"labs/{rung}.c"
    text = (ROOT / name).read_text()
    if direction:
        operator = rung.split("/")[1]
        head, mark, rest = text.partition(f"status_t {operator}_backward")
        assert direction == "forward" and mark, order
        text = head + mark + starter(rest)
    if mistake:
        new, _, old = mistake.partition(" for ")
        assert old and old in text, mistake
        text = text.replace(old, new, 1)
    (tree / name).write_text(text)


def run(tree: Path, command: str) -> str:
    """What a command prints in the handout's folder; once more where the machine was
    too busy to take times.
    """
    for _ in range(ATTEMPTS):
        text = run_once(tree, command)
        if "NOISY" not in text:
            break
    return text


def run_once(tree: Path, command: str) -> str:
    """What a command prints."""
    place = {"COLUMNS": WIDTH, "TERM": "dumb", "CONVLAB_BUILD": str(tree / "build")}
    done = subprocess.run(
        [*command.split(), f"PYTHON={sys.executable}"],
        cwd=tree,
        env={**os.environ, **place},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
    )
    lines = (line.rstrip() for line in done.stdout.splitlines())
    lines = (line for line in lines if not PROGRESS.match(line))
    return "\n".join(lines).strip("\n") + "\n"


def recorded(page: str, tree: Path) -> str:
    """The page with every output as it is today, from a handout in `tree`."""

    def step(match: re.Match[str]) -> str:
        kind, order = match[1], " ".join(match[2].split())
        if kind == "write":
            write(tree, order)
            return match[0]
        said = run(tree, order)
        return f"<!-- run: {match[2]} -->\n```\n$ {order}\n{said}```\n"

    return STEP.sub(step, page)


def verdicts(page: str) -> list[str]:
    """What of a page's outputs has to stay: commands, and the verdicts of each file."""
    kept = []
    for block in re.findall(r"^```\n(.*?)^```$", page, re.M | re.S):
        for line in block.splitlines():
            found = re.findall(r"\b(?:PASS|NOT_IMPLEMENTED|WRONG_\w+)\b", line)
            if found or line.startswith("$"):
                kept.append(" ".join(found) or line)
    return kept


def unpacked(archive: Path, folder: Path) -> Path:
    """A handout's archive, unpacked as a student does it."""
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    return next(folder.iterdir())


def main(arguments: list[str]) -> None:
    """Make a handout if none is named, play it, and write the page."""
    from grader.toolchain.make import build_folder

    archive = build_folder() / "handout" / "convlab-handout.tar.gz"
    if arguments:
        archive = Path(arguments[0])
    else:
        command = [sys.executable, "-m", "grader", "handout"]
        subprocess.run(command, cwd=ROOT, check=True)
    with tempfile.TemporaryDirectory() as folder:
        tree = unpacked(archive, Path(folder))
        PAGE.write_text(recorded(PAGE.read_text(), tree))


if __name__ == "__main__":
    main(sys.argv[1:])
