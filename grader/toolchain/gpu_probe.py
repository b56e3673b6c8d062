# SPDX-License-Identifier: MIT
"""Finds a GPU, what it can do, and what a worker on it needs.

There is a GPU if cudaGetDeviceCount says so; a separate program asks it (gpu_probe.cu).
The worker is the same program as cusim's, compiled against NVIDIA's runtime. If a piece
is missing, `absent` says which, and everything that needs a GPU is pending.

    CONVLAB_GPU=off          as if there were none
    CONVLAB_GPU_SANDBOX=off  a worker that sets no limits for itself (limits.h): only to
                             find out which limit a new driver does not allow
"""

from __future__ import annotations

import functools
import json
import os
import platform
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ladders.toolkit import Toolkit as Toolkit
from ladders.toolkit import toolkit as toolkit

from grader import working
from grader.errors import GraderError
from grader.toolchain.make import TOOLS, build_folder, named_cpp, reason, run_make

MODE = "gpu"
FOLDER, PROGRAM = f"cuda-{MODE}", f"worker-cuda-{MODE}"
ENVIRONMENT, SANDBOX = "CONVLAB_GPU", "CONVLAB_GPU_SANDBOX"
NONE = "there is no GPU here"
NEEDS = "needs a GPU"  # begins the reason of every test that is skipped for want of one
ASKING = 60.0  # seconds for the first context of a machine
_DRIVER = ("libcuda.so", "libnvidia-")  # how the names of its libraries begin
_KEPT = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "LD_LIBRARY_PATH")


@dataclass(frozen=True)
class Gpu:
    """What cudaGetDeviceProperties tells, and what was measured."""

    name: str
    architecture: str  # sm_90
    count: int
    processors: int
    l2: int  # bytes
    memory: int  # bytes
    driver: int  # 13000 is 13.0
    runtime: int
    fma: float = 0.0  # multiply-adds a second in f32, measured; 0: not measured
    bandwidth: float = 0.0  # bytes a second of a copy, both ways

    @property
    def words(self) -> str:
        """For a report."""
        version = f"{self.driver // 1000}.{self.driver % 1000 // 10}"
        size = f"{self.memory / (1 << 30):.0f} GiB"
        cores = f"{self.processors} multiprocessors"
        return f"{self.name} ({self.architecture}, {cores}, {size}, CUDA {version})"


def devices() -> list[Path]:
    """The device files of NVIDIA's driver; without one there is nothing to ask."""
    folder = Path("/dev")
    names = [*folder.glob("nvidia[0-9]*"), *folder.glob("nvidia-uvm*")]
    names += [*folder.glob("nvidiactl"), *folder.glob("dxg")]
    caps = [folder / "nvidia-caps"] if (folder / "nvidia-caps").exists() else []
    return [*sorted(names), *caps]


def card() -> Gpu | None:
    """The first GPU, or None: `absent` says why."""
    return _asked()[0]


def absent() -> str:
    """Why there is no GPU to use; "" if there is one."""
    return _asked()[1]


@functools.cache
def _asked() -> tuple[Gpu | None, str]:
    if os.environ.get(ENVIRONMENT, "").strip().lower() in ("off", "0", "none"):
        return None, f"{ENVIRONMENT} switches it off"
    if not devices():
        return None, NONE
    if not toolkit():
        return None, "nvcc or its library libcudart.so is missing"
    try:
        _make("gpu_probe")
        answer = tell("gpu_probe")
    except GraderError as error:
        return None, str(error)
    if "error" in answer:
        return None, str(answer["error"])
    return card_of(answer), ""


def card_of(answer: dict[str, Any]) -> Gpu:
    """From card's line."""
    names = Gpu.__dataclass_fields__
    return Gpu(**{name: answer[name] for name in names if name in answer})


@functools.cache
def measured() -> Gpu | None:
    """The card with its peaks, measured once a run."""
    found = card()
    return card_of(tell("gpu_probe", "rates")) if found else None


def tell(program: str, *words: str) -> dict[str, Any]:
    """One line of JSON from one of our programs. Raises GraderError."""
    command = [str(build_folder() / "tools" / program), *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=ASKING)
        answer = json.loads(done.stdout.strip().splitlines()[-1])
    except (OSError, subprocess.TimeoutExpired, ValueError, IndexError) as error:
        raise GraderError(
            f"the GPU cannot be used: {type(error).__name__}; run nvidia-smi to "
            "see its state"
        ) from error
    return answer if isinstance(answer, dict) else {}


def _make(*targets: str) -> None:
    kit = toolkit()
    if kit is None:
        raise GraderError(
            "nvcc or its library libcudart.so is missing: install the CUDA toolkit"
        )
    order = ["-f", TOOLS, f"BUILD={build_folder()}", *kit_words(kit), *targets]
    with working.on("compile what runs on the GPU, once"):
        done = run_make(order)
    if done.returncode:
        said = reason(done.stdout)
        raise GraderError(f"cannot build the grader's programs for the GPU: {said}")


def kit_words(kit: Toolkit) -> list[str]:
    """The toolkit as make is told of it."""
    words = [f"NVCC={kit.nvcc}", f"CUDA={kit.include}", f"CUDART={kit.linked}"]
    return [*words, f"CXX={named_cpp()}"]


@functools.cache
def build_tools() -> None:
    """The worker for a GPU. Raises GraderError if it cannot be built."""
    _make("gpu")


# ---- a worker on a card --------------------------------------------------------------


def environment() -> dict[str, str]:
    """What a worker on a card needs of our environment, and what it must not do: its
    files are read-only, so that a cache of compiled kernels would end it.
    """
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    if os.environ.get(SANDBOX) == "off":
        kept[SANDBOX] = "off"
    return {"CUDA_CACHE_DISABLE": "1", **kept}


def driver() -> list[Path]:
    """The driver's own libraries, which are loaded by name: those that NVIDIA puts into
    a container for computing. Their folder has more, cuBLAS perhaps.
    """
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    program = shutil.which("ldconfig", path=path)
    done = subprocess.run(
        [program or "true", "-p"], capture_output=True, text=True, timeout=ASKING
    )
    files = [
        Path(line.rpartition(" => ")[2])
        for line in done.stdout.splitlines()
        if platform.machine().replace("_", "-") in line.lower() and " => " in line
    ]
    named = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    files += [file for p in named if p.startswith("/") for file in Path(p).glob("lib*")]
    return [file for file in files if file.name.startswith(_DRIVER) and file.exists()]


def seen() -> list[Path]:
    """What NVIDIA's libraries read: the driver's files and /sys."""
    return [path for path in (Path("/sys"), *driver()) if path.exists()]
