# SPDX-License-Identifier: MIT
"""Finds host functions that a kernel calls, by NVIDIA's compiler, if it is here.

To an ordinary compiler a function without __device__ is a function like any other.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from cusim.build import ROOT
from cusim.report import Finding, Place

NOT_LOOKED = (
    "cusim: this machine has no nvcc. So it is not checked whether a kernel calls a "
    "function of the host: only NVIDIA's compiler can check this"
)
DEADLINE = 120.0  # seconds

_CALL = re.compile(
    r"^(?P<file>[^\s(]+)\((?P<line>\d+)\): error: calling a (?:constexpr )?__host__ "
    r'function\("?(?P<name>[^")(]+).*? from a \w+ '
    r'function\("?(?P<caller>[^")(]+)',
    re.MULTILINE,
)


def find() -> str:
    """nvcc's path: NVCC, PATH, or CUDA's usual place; "" if there is none."""
    named = os.environ.get("NVCC", "").strip()
    if named:
        return shutil.which(named) or ""
    return shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc") or ""


def host_calls(source: Path, flags: tuple[str, ...] = ()) -> list[Finding] | None:
    """Calls of host functions in device code; None if there is no nvcc."""
    nvcc = find()
    if not nvcc:
        return None
    command = [nvcc, "-std=c++17", f"-I{ROOT / 'common'}", *flags]
    command += ["-gencode", "arch=compute_80,code=sm_80", "-c", "-o", os.devnull]
    try:
        done = subprocess.run(
            [*command, str(source)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=DEADLINE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    said = (done.stdout + done.stderr).decode(errors="replace")
    return read(said)


def read(said: str) -> list[Finding]:
    """The findings in what nvcc said, one for each call."""
    found = {}
    for match in _CALL.finditer(said):
        sentence = (
            f"'{match['name']}' is a function of the host, but '{match['caller']}' "
            "calls it on the device; put __device__ before it"
        )
        place = Place("called", match["file"], int(match["line"]))
        finding = Finding("error", "host_function", sentence, (place,))
        found[match["file"], match["line"], match["name"]] = finding
    return list(found.values())
