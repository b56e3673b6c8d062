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
    (cusim,) = (build / "cusim" / "runtime").glob("*-run/libcusim.so")
    shutil.copytree(PROGRAMS / "card" / "bin", folder / "bin")
    libraries = folder / "lib64"
    libraries.mkdir()
    runtime = Path(shutil.copy(cusim, libraries))
    include = ROOT / "common" / "cusim" / "include"
    shutil.copytree(include, folder / "include")  # a sandbox shows the toolkit alone
    driver = libraries / "libdriver.so"
    source = PROGRAMS / "card" / "driver.cpp"
    link = ["g++", "-shared", "-fPIC", f"-I{include}", "-o", driver, source]
    subprocess.run([*link, runtime, "-ldl"], check=True, timeout=60)
    # both under one name, for the linker
    (libraries / "libcudart.so").write_text(f"GROUP ( {driver} {runtime} )\n")
    return folder


def run(
    command: Sequence[str],
    *,
    kit: Path,
    build: Path,
    tree: Path = ROOT,
    network: bool = True,
) -> subprocess.CompletedProcess[str]:
    """A command in a tree beside the card; what it builds goes to `build`."""
    alone = [] if network else ["--unshare-net"]
    mine = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    environment = {
        **mine,
        "NVCC": str(kit / "bin" / "nvcc"),
        "CONVLAB_BUILD": str(build),
    }
    return subprocess.run(
        [sandbox.bubblewrap(), *_NAMESPACE, *alone, "--", *command],
        cwd=tree,
        env=environment,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=1800,
    )
