# SPDX-License-Identifier: MIT
"""Runs NVIDIA's compiler, if it is installed, and reads its figures for each kernel.

If only cusim's compiler accepts a rung, it is not CUDA. nvcc needs no GPU. For each
kernel it reports registers, spills and shared memory. They limit how many warps fit on
a processor of the card. What was compiled once is kept, by the contents of the rung and
its headers.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from ladders.toolkit import find as find

from grader import working
from grader.course.foreign import short
from grader.course.rungs import ROOT, Rung
from grader.toolchain import make
from grader.verdicts import Verdict

NONE_HERE = "not compiled by NVIDIA's compiler, because this machine has no nvcc"
# -fatbin: no host code is made; cusim's compiler says what is wrong in host code
FLAGS = ("-std=c++17", "-O3", "-DREAL_F32", "-Xptxas", "-v", "-fatbin")
PARTS, REGISTERS = 4, 16384  # of a multiprocessor; of one of its parts
GRANULE = 256  # registers are given to a warp in such pieces
WARPS = {  # that a multiprocessor holds; 64 where it is not said
    "sm_75": 32,
    **dict.fromkeys(("sm_86", "sm_87", "sm_89", "sm_120"), 48),
}
MOST_REPORTED = 5  # warnings

_ENTRY = re.compile(r"Compiling entry function '(\S+)' for '(sm_\d+a?)'")
_SPILLS = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")
_WARNING = re.compile(r"^\S+\(\d+\): warning|^\S+:\d+:(\d+:)? warning")
_ERROR = re.compile(r"^(?P<file>[^\s(]+)\((?P<line>\d+)\): error: (?P<text>.*)$", re.M)


@dataclass(frozen=True)
class Kernel:
    """What ptxas says of one kernel on one architecture."""

    name: str
    architecture: str
    registers: int
    spills: int  # bytes, stores and loads
    shared: int  # bytes, static
    # of the warps a multiprocessor holds, as far as registers go; None: not told
    occupancy: float | None = None


@dataclass(frozen=True)
class Compiled:
    """What nvcc said of a rung."""

    verdict: Verdict
    message: str = ""
    location: str | None = None
    warnings: tuple[str, ...] = ()
    kernels: tuple[Kernel, ...] = ()


@functools.cache
def release() -> str:
    """The line that names nvcc's release; "" without nvcc."""
    if not (path := find()):
        return ""
    done = subprocess.run([path, "--version"], capture_output=True, text=True)
    said = [line for line in done.stdout.splitlines() if "release" in line]
    return (said or ["found"])[0]


def compile(rung: Rung) -> Compiled:
    """A rung for its architectures, from what is kept if nothing has changed."""
    nvcc = find()
    if not nvcc:
        return Compiled(Verdict.SKIPPED, NONE_HERE)
    kept = _kept(rung, nvcc)
    if kept.exists():
        return _read(kept)
    kept.parent.mkdir(parents=True, exist_ok=True)
    command = [nvcc, *FLAGS, "-I", str(ROOT / "common")]
    for architecture in rung.architectures:
        compute = architecture.replace("sm", "compute")
        command += ["-gencode", f"arch={compute},code={architecture}"]
    command += ["-o", "/dev/null", rung.shown]
    toolkit = Path(nvcc).resolve().parents[1]
    also = [*rung.headers, *([] if toolkit.is_relative_to("/usr") else [toolkit])]
    with working.on(f"compile {rung.shown} with nvcc"):
        done = make.run_compiler(command, sees=rung.file, own=kept.parent, also=also)
    made = _understood(done)
    if made.verdict is Verdict.TIMEOUT:
        return made  # it tells of this hour, not of the file
    fresh = kept.with_suffix(f".{os.getpid()}.new")
    fresh.write_text(json.dumps(asdict(made)))
    fresh.rename(kept)
    return made


def _kept(rung: Rung, nvcc: str) -> Path:
    """Where the outcome is kept: a name for everything it depends on."""
    digest = hashlib.sha256(
        f"{nvcc} {FLAGS} {rung.architectures} {rung.shown}".encode()
    )
    for file in (Path(nvcc), *sorted((ROOT / "common").glob("*.h"))):
        digest.update(f"{file.stat().st_mtime_ns}".encode())
    for own in (rung.file, *rung.headers):
        digest.update(own.read_bytes())
    return make.build_folder() / "rungs" / "nvcc" / f"{digest.hexdigest()[:24]}.json"


def _read(kept: Path) -> Compiled:
    made = json.loads(kept.read_text())
    kernels = tuple(Kernel(**kernel) for kernel in made.pop("kernels"))
    made["verdict"], made["warnings"] = (
        Verdict(made["verdict"]),
        tuple(made["warnings"]),
    )
    return Compiled(**made, kernels=kernels)


def _understood(done: subprocess.CompletedProcess[str]) -> Compiled:
    warnings = [line for line in done.stdout.splitlines() if _WARNING.match(line)]
    first = tuple(short(line, 300) for line in warnings[:MOST_REPORTED])
    if done.returncode == make.LATE:
        return Compiled(Verdict.TIMEOUT, f"nvcc: {make.reason(done.stdout)}")
    if done.returncode:
        error = _ERROR.search(done.stdout)
        place = f"{error['file']}:{error['line']}" if error else None
        said = error["text"] if error else make.reason(done.stdout)
        text = f"nvcc does not compile it: {said}"
        return Compiled(Verdict.BUILD, text, place, first)
    return Compiled(Verdict.PASS, warnings=first, kernels=tuple(_kernels(done.stdout)))


def _kernels(text: str) -> Iterator[Kernel]:
    """Of ptxas's words for each kernel and architecture."""
    parts = _ENTRY.split(text)[1:]
    for symbol, architecture, said in zip(*(parts[i::3] for i in range(3))):
        used, spilled, shared = (p.search(said) for p in (_USED, _SPILLS, _SHARED))
        registers = int(used[1]) if used else 0
        yield Kernel(
            _name(symbol),
            architecture,
            registers,
            sum(int(number) for number in spilled.groups()) if spilled else 0,
            int(shared[1]) if shared else 0,
            _occupancy(registers, WARPS.get(architecture, 64)),
        )


def _name(symbol: str) -> str:
    """matmul_kernel, of _Z13matmul_kernel8tensor_t..."""
    match = re.match(r"_Z[NL]*(\d+)", symbol)
    return symbol[match.end() :][: int(match[1])] if match else symbol


def _occupancy(registers: int, most: int) -> float:
    """The share of a multiprocessor's warps that its registers are enough for."""
    of_warp = -(-max(1, registers) * 32 // GRANULE) * GRANULE
    return min(most, PARTS * (REGISTERS // of_warp)) / most
