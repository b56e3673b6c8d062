# SPDX-License-Identifier: MIT
"""Finds the worker program for a shared object, and the files that it needs."""

from __future__ import annotations

from pathlib import Path

from grader.runner.supervisor.session import Outside
from grader.toolchain import gpu_probe
from grader.toolchain.make import build_folder, named_cpp

WORKER = "worker-cuda-run"  # of the plain build


def program_of(library: Path) -> str:
    """The worker that runs a shared object: told by the folder it was built in."""
    for part in library.parts:
        if part.startswith("cuda-"):
            return "-".join(["worker", *part.split("-")[:2]])
    return "worker"


def outside_of(program: str) -> Outside | None:
    """What a worker on a GPU needs beyond its sandbox; None for the others."""
    if program != gpu_probe.PROGRAM:
        return None
    devices, libraries = tuple(gpu_probe.devices()), tuple(gpu_probe.driver())
    return Outside(devices, libraries, gpu_probe.environment())


def runtime_of(program: str) -> list[Path]:
    """What a worker needs beside itself: the runtime it is linked with."""
    if not program.startswith("worker-cuda-"):
        return []
    if program == gpu_probe.PROGRAM:
        return gpu_probe.seen()
    name = Path(named_cpp().split()[0]).name
    mode = program.removeprefix("worker-cuda-")
    return [build_folder() / "cusim" / "runtime" / f"{name}-{mode}"]
