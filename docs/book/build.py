# SPDX-License-Identifier: MIT
"""The book, for students and for instructors, in build/book.

The instructor's edition is made of the repository, the student's of the handout, which
`make docs` derives first: what a handout does not hold cannot be in it. Notebooks are
run once, in the repository; the student's edition shows their outputs behind the cells
that a student gets. No network is needed. A warning of Sphinx is an error.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from html import unescape
from pathlib import Path

import nbformat

from docs.book import source
from grader.commands import handout, notebooks
from grader.course.handed.counted_files import RUNG
from grader.errors import GraderError
from grader.handout import leaks

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
EDITIONS = {
    "instructor": "convlab: the instructor's book",
    "student": "convlab: the student's book",
}
READ = ("labs", "common", "grader")  # what the output of a notebook depends on


def main(words: Sequence[str]) -> int:
    """Build the editions that are asked for, all without a word."""
    if unknown := set(words) - set(EDITIONS):
        known = " or ".join(EDITIONS)
        raise GraderError(f"there is no edition {min(unknown)!r}; say {known}")
    build = Path(os.environ.get("CONVLAB_BUILD", ROOT / "build")).resolve()
    trees = {"instructor": ROOT, "student": build / "handout" / "student"}
    for edition in words or EDITIONS:
        start = time.monotonic()
        if edition == "student":
            make_handout()
        folder = build / "book" / edition
        executed = outputs(build / "book" / "notebooks" / state(), edition)
        count = len(source.write(trees[edition], folder / "source", executed))
        sphinx(folder, EDITIONS[edition])
        if edition == "student":
            search(folder / "html")
        seconds = time.monotonic() - start
        print(f"{folder / 'html' / 'index.html'}: {count} pages, {seconds:.0f} s")
        print(sizes(folder / "html"))
    return 0


def make_handout() -> None:
    """Derive the tree that students get, in a process of its own."""
    command = [sys.executable, "-m", "grader", "handout"]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def outputs(kept: Path, edition: str) -> Callable[[str], str]:
    """A function that gives a notebook with its outputs, by its path from the root."""

    def executed(name: str) -> str:
        text = (ROOT / name).read_text(encoding="utf-8")
        file = kept / name.replace("/", "_")
        if not file.exists():
            notebook = nbformat.reads(text, as_version=4)
            kept.mkdir(parents=True, exist_ok=True)
            notebooks.execute(notebook, kept.parent)
            nbformat.write(notebook, file)
        whole = file.read_text(encoding="utf-8")
        return whole if edition == "instructor" else for_students(name, text, whole)

    return executed


def for_students(name: str, text: str, whole: str) -> str:
    """The notebook of the handout with the outputs of the same cells of a whole one."""
    student = json.loads(handout.notebook(name, text))
    by_id = {cell["id"]: cell for cell in json.loads(whole)["cells"]}
    for cell in student["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = by_id[cell["id"]]["outputs"]
    return json.dumps(student)


def state() -> str:
    """A hash of all that a notebook may import."""
    seen = hashlib.sha256()
    for name in tracked(*READ):
        seen.update(name.encode() + b"\0" + (ROOT / name).read_bytes())
    return seen.hexdigest()[:16]


def tracked(*folders: str) -> list[str]:
    """The files that git knows there."""
    command = ["git", "ls-files", "-z", *folders]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    names = [os.fsdecode(name) for name in listed.stdout.split(b"\0") if name]
    return sorted(name for name in names if (ROOT / name).is_file())


def sphinx(folder: Path, title: str) -> None:
    """Source to HTML. Raises GraderError with the warnings if there are any."""
    html = folder / "html"
    shutil.rmtree(html, ignore_errors=True)
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-q", "-W", "--keep-going"]
    command += ["-c", str(HERE), "-d", str(folder / "doctrees")]
    done = subprocess.run(
        [*command, str(folder / "source"), str(html)],
        env={**os.environ, "CONVLAB_EDITION": title},
        stderr=subprocess.PIPE,
        text=True,
    )
    if done.returncode:
        raise GraderError(f"Sphinx warns, which is an error here:\n{done.stderr}")
    shutil.copyfile(html / "README.html", html / "index.html")


def search(html: Path) -> None:
    """Raises GraderError if a page shows a line of a solution."""
    files = [ROOT / name for name in tracked("labs") if RUNG.fullmatch(name)]
    solutions = leaks.solution_lines(files)
    for page in sorted(html.rglob("*.html")):
        text = unescape(re.sub(r"<[^>]*>", "", page.read_text(encoding="utf-8")))
        if found := leaks.inside(text, solutions):
            raise GraderError(
                f"{page.relative_to(html)} would give solutions away in {len(found)} "
                f"places, the first: {found[0]}"
            )


def sizes(html: Path) -> str:
    """How large the pages and the pictures are."""
    told = []
    for what, endings in (("pages", {".html"}), ("pictures", {".png", ".svg", ".jpg"})):
        files = [file for file in html.rglob("*") if file.suffix in endings]
        total = sum(file.stat().st_size for file in files)
        largest = max(files, key=lambda file: file.stat().st_size, default=None)
        words = f"{len(files)} {what}, {total / 1e6:.1f} MB"
        if largest:
            megabytes = largest.stat().st_size / 1e6
            words += (
                f", the largest {largest.relative_to(html)} with {megabytes:.2f} MB"
            )
        told.append(f"  {words}")
    return "\n".join(told)
