# SPDX-License-Identifier: MIT
"""Makes once what all students of a class share: a tree and the grader's programs.

The tree also holds the hidden cases of the course. Each submission gets a copy of the
tree, so no submission can change another one.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from grader import once
from grader.course.offered import course_file, narrowed
from grader.course.offered.course_file import FILE, Course
from grader.course.tasks import all_tasks
from grader.engine.marks import hand_in
from grader.errors import GraderError
from grader.handout import course_trees

NAME = "class"
KEY = "key"  # a file: what it was made for
SECONDS = 1800
PROGRAMS = """
from grader.toolchain import cusim, make
make.build_tools()
make.sanitizers_missing()
make.races_missing()
"""
FOR_CUDA = "cusim.build_tools()\n"
FOR_EXTENSION = """
from grader.toolchain.extension import precompiled
precompiled.make()
"""


def make(folder: Path, student: Path, wanted: Course, key: str) -> None:
    """Make it in a folder from the students' tree, unless it is there for this key.
    Raises GraderError if the grader's programs cannot be built.
    """
    product = folder / NAME
    if (product / KEY).is_file() and (product / KEY).read_text() == key:
        return
    with once.placed(product) as new:
        tree = new / "tree"
        shutil.copytree(student, tree)
        course_trees.hide(tree, wanted)
        labs = {task[:2] for task in wanted.offers}
        programs = PROGRAMS + (FOR_CUDA if "04" in labs else "")
        programs += FOR_EXTENSION if "05" in labs else ""
        _run(new, "-m", "compileall", "-q", "grader", "common/python")
        _run(new, "-c", programs)
        (new / KEY).write_text(key)


def copied(product: Path, folder: Path) -> tuple[Path, Path]:
    """A copy of the tree, and a folder to build in."""
    for part in ("tree", "build"):  # with all times: nothing is built again
        shutil.copytree(product / part, folder / part, symlinks=True)
    return folder / "tree", folder / "build"


def course_of(product: Path) -> Course:
    """The course, as the tree has it."""
    return course_file.course(product / "tree" / FILE, narrowed.names(all_tasks()))


def _run(new: Path, *words: str) -> None:
    """Python in the tree, which builds beside it."""
    (new / "build").mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, *words],
        cwd=new / "tree",
        env=hand_in.environment(new / "tree", new / "build"),
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["no word"]
        raise GraderError(f"the grader's programs cannot be built: {lines[-1]}")
