# SPDX-License-Identifier: MIT
"""The README's first command, as somebody new runs it: `make grade` in a fresh clone.

python -m tests.proofs.cold [--runs N] [--jobs 2,4,8] [--small] [--busy N] [--write]

Everything is built and asked, with nothing left of an earlier run and nothing set but
SPEED=off. Any verdict fails but PASS and those that wait for a card or a compiler.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.course.rungs import ROOT
from grader.toolchain.make import build_folder
from tests.proofs import pages

DESCRIPTORS = 1024  # Debian's limit for a process
FINE = {"PASS", "PENDING_GPU", "SKIPPED"}
UNSET = ("CI", "CONVLAB_", "FRESH", "JOBS", "MAKE", "MFLAGS", "PYTHON", "TIMES")
# of `small`: what calls much of the same, and a lab 02 whose given objects are called
SMALL = {
    "01_python_function": "",
    "02_naive_c": "conv2d layer_norm lltm matmul unfold",
    "03_im2col_cpu": "conv2d layer_norm lltm",
    "04_cuda_kernels": "",
}
SMALL_CONV2D = 5  # rungs of lab 03
SMALL_EXTENSION = "conv2d"
PAGE = """# Cold gradings of a fresh clone

Made by `{}` on {}.
`make grade SPEED=off` with no build folder, of {}.
Wrong are all verdicts but PASS and those that wait for a card. *Busy* are endless loops
beside it. Exit 2 is make's word for a task that has no file."""
TREES = {
    "whole": "all labs",
    "small": "conv2d, layer_norm, lltm, matmul and unfold of lab 02, conv2d (five\n"
    "files), layer_norm and lltm of lab 03, conv2d of lab 05, with CHECK=forward",
}
HEAD = ["tree", "JOBS", "busy", "files", "wrong", "exit", "seconds"]


@dataclass(frozen=True)
class Run:
    """What came of one grading."""

    jobs: str  # as JOBS is written; "" for the default
    files: int
    wrong: list[str]  # a sentence each
    status: int
    seconds: float
    said: str  # by the command, in the end
    whole: bool = True  # all labs
    busy: int = 0  # loops beside it

    @property
    def failed(self) -> bool:
        """In a small tree some tasks have no file, which only STRICT=1 refuses."""
        return bool(self.wrong) or self.status != 0 or not self.files

    def row(self, tree: str) -> list[object]:
        """Its line in the table."""
        counted = [self.files, len(self.wrong), self.status, f"{self.seconds:.0f}"]
        return [tree, self.jobs or "default", self.busy, *counted]


def clone(folder: Path, *, small: bool = False) -> Path:
    """The repository as it was committed last."""
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run(["git", "clone", "-q", str(ROOT), str(folder)], check=True)
    if small:
        _shrink(folder / "labs")
    return folder


def _shrink(labs: Path) -> None:
    """Leave little: the ladders of SMALL, the first rungs of the longest one, and one
    operator of lab 05.
    """
    for lab, kept in SMALL.items():
        for ladder in (labs / lab).iterdir():
            if ladder.is_dir() and ladder.name not in kept.split():
                shutil.rmtree(ladder)
    for rung in sorted((labs / "03_im2col_cpu/conv2d").glob("*.c"))[SMALL_CONV2D:]:
        rung.unlink()
    extension = labs / "05_torch_extension"
    shutil.rmtree(extension / "bug_hunt")
    for source in extension.glob("csrc/*/*.cpp"):
        if source.stem != SMALL_EXTENSION:
            source.unlink()


@contextlib.contextmanager
def loops(count: int) -> Iterator[None]:
    """So many programs that do nothing, and never stop."""
    running = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"])
        for _ in range(count)
    ]
    try:
        yield
    finally:
        for one in running:
            one.kill()
            one.wait()


def grade(tree: Path, jobs: str = "", *, whole: bool = True, busy: int = 0) -> Run:
    """Grade it all, cold."""
    shutil.rmtree(tree / "build", ignore_errors=True)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(UNSET)}
    words = [
        "SPEED=off",
        *(["STRICT=1"] if whole else ["CHECK=forward"]),
        f"PYTHON={sys.executable}",
        *([f"JOBS={jobs}"] if jobs else []),
    ]
    start = time.monotonic()
    with loops(busy):
        done = subprocess.run(
            ["prlimit", f"--nofile={DESCRIPTORS}:", "make", "grade", *words],
            cwd=tree,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
    seconds = time.monotonic() - start
    file = tree / "build" / "grade" / "results.json"
    found = json.loads(file.read_text()) if file.exists() else {"tasks": []}
    rungs = [rung for task in found["tasks"] for rung in task["rungs"]]
    bad = list(wrong(rungs))
    counted = len(rungs), bad, done.returncode, seconds
    return Run(jobs, *counted, done.stdout, whole, busy)


def wrong(rungs: list[dict[str, Any]]) -> Iterator[str]:
    """What is not as it should be, in a sentence each."""
    for rung in rungs:
        for check in rung["checks"]:
            if check["verdict"] not in FINE:
                sentence = f"{check['name']} {check['verdict']}: {check['message']}"
                yield f"{rung['id']} {sentence}"


def main(arguments: list[str] | None = None) -> int:
    """Grade as often as asked; 1 if a run was not all right."""
    parser = argparse.ArgumentParser(prog="python -m tests.proofs.cold")
    parser.add_argument("--runs", type=int, default=1, help="for each of the JOBS")
    parser.add_argument("--jobs", default="", help="several, separated by commas")
    parser.add_argument("--small", action="store_true", help="a part of the labs")
    parser.add_argument(
        "--busy", type=int, default=0, help="loops beside each fourth run"
    )
    parser.add_argument("--write", action="store_true", help="write the table")
    args = parser.parse_args(arguments)
    kind = "small" if args.small else "whole"
    tree = clone(build_folder() / f"cold-{kind}", small=args.small)
    rows, failed = [], 0
    for number, jobs in enumerate(args.runs * args.jobs.split(",")):
        busy = args.busy if number % 4 == 3 else 0
        run = grade(tree, jobs, whole=not args.small, busy=busy)
        rows.append(run.row(kind))
        failed += run.failed
        print(pages.line(rows[-1]), *run.wrong, sep="\n  ", flush=True)
        if run.failed:
            print(run.said[-3000:], flush=True)
        if args.write:
            table = "\n".join(pages.table(HEAD, rows))
            command = "python -m tests.proofs.cold " + " ".join(
                arguments or sys.argv[1:]
            )
            head = PAGE.format(command, pages.machine(), TREES[kind])
            pages.write(f"cold_{kind}.md", head, table)
    shutil.rmtree(tree)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
