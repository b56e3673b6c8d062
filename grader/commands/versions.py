# SPDX-License-Identifier: MIT
"""`make versions` tests lab 05's binary, built once, under another PyTorch.

The stable ABI exists for this. The other PyTorch gets its own environment in
build/versions. It imports the same files that the pinned PyTorch built. Then conv2d and
linear, forward and backward, are compared with it.

    python -m grader.commands.versions           the version that is pinned for this
    python -m grader.commands.versions 2.11.0    any other
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from grader.course.rungs import ROOT
from grader.errors import GraderError
from grader.report import terminal
from grader.toolchain.extension.kernels import LAB
from grader.toolchain.make import build_folder

PINNED = ROOT / "requirements" / "other_torch.txt"
OTHER_TORCH = ROOT / "grader/toolchain/extension/under_other_torch.py"
FETCHING, RUNNING = 1200.0, 300.0  # seconds


def main() -> int:
    """Exit status: 0 if everything agrees."""
    try:
        version = sys.argv[1] if len(sys.argv) > 1 else pinned()
        terminal.say(under(version, LAB))
    except GraderError as error:
        terminal.complain(str(error))
        return 1
    return 0


def pinned() -> str:
    """The version that requirements/other_torch.txt names."""
    found = re.search(r"^torch==(\S+)", PINNED.read_text(), re.M)
    assert found
    return found[1]


def under(version: str, package: Path) -> str:
    """The sentence of under_other_torch.py, for convlab_ext in the folder `package`.

    Raises GraderError if the version cannot be had, or something does not agree.
    """
    for operator in ("conv2d", "linear"):
        if not (package / "convlab_ext" / f"_{operator}.abi3.so").exists():
            raise GraderError(
                f"{operator} of step (c) is not built in {package}: run make build "
                "LAB=05"
            )
    python = environment(version)
    done = _run([str(python), str(OTHER_TORCH)], RUNNING, {"PYTHONPATH": str(package)})
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no reason told"])[-1]
        raise GraderError(f"the operators of lab 05 fail with torch {version}: {last}")
    return done.stdout.strip().splitlines()[-1]


def environment(version: str) -> Path:
    """The Python of an environment with this torch, made at the first call.

    uv takes what it has fetched before from its cache, by hard links.
    Raises GraderError if it cannot be made.
    """
    folder = build_folder() / "versions" / f"torch-{version}"
    python = folder / "bin" / "python"
    ready = folder / "ready"
    if ready.exists() and python.exists():
        return python
    beside = Path(sys.executable).with_name("uv")
    uv = str(beside) if beside.exists() else shutil.which("uv")
    if not uv:
        raise GraderError(
            "the package uv, which makes the environments, is missing: install it with "
            "pip install uv"
        )
    terminal.say(f"fetching torch {version}: up to 3 GB, and 5 GB of disk in {folder}")
    if version == pinned():
        wanted = ["--require-hashes", "-r", str(PINNED)]
    else:
        wanted = [f"torch=={version}", "numpy"]
    folder.mkdir(parents=True, exist_ok=True)
    make = [uv, "venv", "-q", "--clear", "--python", sys.executable, str(folder)]
    install = [uv, "pip", "install", "-q", "--python", str(python), *wanted]
    for command in (make, install):
        done = _run(command, FETCHING)
        if done.returncode:
            reason = " ".join(done.stderr.split())[-300:] or "no reason told"
            raise GraderError(
                f"torch {version} cannot be downloaded: {reason}. The download needs a "
                "network and 6 GB of free disk space"
            )
    ready.touch()
    return python


def _run(
    command: list[str], seconds: float, more: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """A program without this environment's paths. Raises GraderError if it hangs."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    try:
        return subprocess.run(
            command,
            env={**kept, **(more or {})},
            capture_output=True,
            text=True,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired as error:
        name = Path(command[0]).name
        raise GraderError(f"{name} did not end within {seconds:.0f} s") from error


if __name__ == "__main__":
    sys.exit(main())
