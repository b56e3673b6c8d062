# SPDX-License-Identifier: MIT
"""A card that is cusim: a device file, an nvcc and a compute-sanitizer.

Inside of a mount namespace /dev has the file that WSL has for a GPU, and NVCC names a
toolkit that is made of cusim. The grader's own probe, build, worker, limits and replay
run there as they do beside a card. PyTorch finds no card there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from grader.toolchain import sandbox
from tests import PROGRAMS, ROOT

DEVICE = "/dev/dxg"
_NAMESPACE = ["--bind", "/", "/", "--dev", "/dev", "--dev-bind", "/dev/null", DEVICE]


def refused() -> str:
    """Why there can be no such namespace here; "" if there can."""
    if not sandbox.bubblewrap():
        return "bubblewrap is not installed"
    tried = subprocess.run(
        [sandbox.bubblewrap(), *_NAMESPACE, "test", "-c", DEVICE], capture_output=True
    )
    return "this machine refuses a mount namespace" if tried.returncode else ""


def toolkit(folder: Path, build: Path) -> Path:
    """A CUDA toolkit in `folder`, made of the cusim that lies in the `build` folder."""
    (runtime,) = (build / "cusim" / "runtime").glob("*-run/libcusim.so")
    for name in ("bin", "lib64"):
        (folder / name).mkdir(parents=True)
    for program in (PROGRAMS / "card").iterdir():
        shutil.copy(program, folder / "bin")
    shutil.copy(runtime, folder / "lib64" / "libcudart.so")
    (folder / "include").symlink_to(ROOT / "common" / "cusim" / "include")
    return folder


def run(
    command: Sequence[str], *, kit: Path, build: Path
) -> subprocess.CompletedProcess[str]:
    """A command beside the card; what it builds goes to `build`."""
    environment = {
        **os.environ,
        "NVCC": str(kit / "bin" / "nvcc"),
        "CONVLAB_BUILD": str(build),
    }
    return subprocess.run(
        [sandbox.bubblewrap(), *_NAMESPACE, "--", *command],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        errors="replace",
    )
