# SPDX-License-Identifier: MIT
"""Lab 03's rungs, compiled for another machine and run there: by a driver of their own.

    Target("aarch64", ...) builds all rungs of a ladder into one program; `run` hands it
    cases and gets the results back.

Rungs are told apart by macros here, since the tools that rename symbols know only the
machine they were built for: conv2d_forward becomes conv2d_05_forward, and what a rung
uses becomes the name of the rung that serves it.
"""

from __future__ import annotations

import re
import struct
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from ladders import walks
from ladders.linked_parts import LOWER, OWN

from grader import operators
from grader.course.candidates import candidates
from grader.course.rungs import ROOT, Rung, Task
from grader.course.tasks import all_tasks
from grader.operators import Case, Operator
from tests import PROGRAMS

DRIVER = PROGRAMS / "portable" / "driver.c"
FLAGS = "-std=c11 -O3 -fno-math-errno -ffp-contract=fast -fopenmp -Wall -Wextra -Werror"
QUIET = "-Wno-unused-parameter -Wno-unknown-pragmas"
DIRECTIONS = ("forward", "backward")
CODES = {torch.float32: 2, torch.float64: 3, torch.int32: 4, torch.int64: 5}
SIDES = 8
SECONDS = 300.0


@dataclass(frozen=True)
class Target:
    """A machine: how to compile for it, and what runs its programs here."""

    name: str
    compiler: tuple[str, ...]
    runner: tuple[str, ...] = ()

    def build(self, task: Task, dtype: str, folder: Path) -> Path:
        """The program that holds every rung of a ladder."""
        rungs = _needed(task)
        numbers = {rung.id: i for i, rung in enumerate(rungs)}
        head = f"{FLAGS} {QUIET} -I{ROOT / 'common'} -I{folder}"
        flags = [*head.split(), *(["-DREAL_F64"] if dtype == "f64" else [])]
        objects = []
        for rung in rungs:
            made = folder / f"{numbers[rung.id]}.{dtype}.o"
            names = [f"-D{a}={b}" for a, b in _renamed(rung, numbers).items()]
            self._compile([*flags, *names, "-c", str(rung.file), "-o", str(made)])
            objects.append(str(made))
            for direction in _walked(rung):
                text = folder / f"{numbers[rung.id]}_{direction}.c"
                text.write_text(walks.source(rung.operator, direction))
                walk = str(text.with_suffix(f".{dtype}.o"))
                pairs = _of_walk(rung, direction, numbers).items()
                names = [f"-D{a}={b}" for a, b in pairs]
                self._compile([*flags, *names, "-c", str(text), "-o", walk])
                objects.append(walk)
        (folder / "table.h").write_text(_table(task, numbers))
        program = folder / f"driver.{dtype}"
        common = [str(ROOT / "common" / f"{name}.c") for name in ("calls", "check")]
        self._compile(
            [*flags, str(DRIVER), *common, *objects, "-lm", "-o", str(program)]
        )
        return program

    def _compile(self, words: Sequence[str]) -> None:
        done = subprocess.run(
            [*self.compiler, *words], capture_output=True, text=True, timeout=SECONDS
        )
        assert done.returncode == 0, done.stderr

    def run(
        self, program: Path, number: int, cases: bytes, folder: Path
    ) -> tuple[int, str, bytes]:
        """Exit status, what it said, and its results."""
        given, made = folder / "cases", folder / "results"
        given.write_bytes(cases)
        done = subprocess.run(
            [*self.runner, str(program), str(number), str(given), str(made)],
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        return done.returncode, done.stderr, made.read_bytes()


# ---- which rung calls which ----------------------------------------------------------


def _defines(rung: Rung, direction: str) -> bool:
    name = f"{rung.task.split('/')[1]}_{direction}"
    return bool(re.search(rf"^status_t {name}\(", rung.file.read_text(), re.M))


def _serves(rung: Rung, alias: str, direction: str) -> Rung:
    """The rung behind an alias: the first candidate that has the direction, else the
    highest of lab 02, which given objects are made of.
    """
    by_id = {task.id: task for task in all_tasks()}
    use = next(use for use in rung.uses if use.alias == alias)
    chosen = candidates(rung, use, by_id)
    chosen += reversed(by_id[f"02_naive_c/{chosen[0].task.split('/')[1]}"].rungs)
    return next(r for r in chosen if _defines(r, direction))


def _calls(rung: Rung) -> dict[str, Rung]:
    """Symbols that a rung, or a header beside it, uses, and who has them."""
    text = rung.file.read_text()
    headers = re.findall(r'^#include "(\w+\.h)"', text, re.M)
    beside = [rung.file.with_name(name) for name in headers]
    text += "".join(file.read_text() for file in beside if file.exists())
    left = {f"{LOWER}_{direction}" for direction in _walked(rung)}
    return {
        symbol: _serves(rung, use.alias, symbol.rpartition("_")[2])
        for use in rung.uses
        for symbol in use.symbols
        if symbol in left or re.search(rf"\b{symbol}\b", text)
    }


def _walked(rung: Rung) -> list[str]:
    """The directions of a rung that a lower one completes."""
    below = any(use.alias == LOWER for use in rung.uses)
    return [d for d in DIRECTIONS if below and _defines(rung, d)]


def _plain(task: Task, direction: str) -> Rung:
    """The highest rung of lab 02 with a direction that no lower rung lends."""
    by_id = {task.id: task for task in all_tasks()}
    rungs = by_id[f"02_naive_c/{task.operator}"].rungs
    return next(r for r in reversed(rungs) if _defines(r, direction))


def _needed(task: Task) -> list[Rung]:
    """The rungs of a ladder, then what they use of others."""
    found = list(task.rungs)
    found += [_plain(task, d) for d in DIRECTIONS if not _defines(task.rungs[0], d)]
    for rung in found:  # grows while it is walked
        found += [r for r in _calls(rung).values() if r not in found]
    return list(dict.fromkeys(found))


def _of_walk(rung: Rung, direction: str, numbers: dict[str, int]) -> dict[str, str]:
    """The names that the walk from a rung to the one below is compiled with."""
    below = _calls(rung)[f"{LOWER}_{direction}"]
    return {
        f"{rung.operator}_{direction}": _symbol(rung, direction, numbers),
        f"{OWN}_{direction}": f"{_symbol(rung, direction, numbers)}_{OWN}",
        f"{LOWER}_{direction}": _symbol(below, direction, numbers),
    }


def _renamed(rung: Rung, numbers: dict[str, int]) -> dict[str, str]:
    operator = rung.task.split("/")[1]
    names = {f"{operator}_{d}": _symbol(rung, d, numbers) for d in DIRECTIONS}
    for direction in _walked(rung):
        names[f"{operator}_{direction}"] += f"_{OWN}"
    for symbol, other in _calls(rung).items():
        names[symbol] = _symbol(other, symbol.rpartition("_")[2], numbers)
    return names


def _symbol(rung: Rung, direction: str, numbers: dict[str, int]) -> str:
    return f"{rung.task.split('/')[1]}_{numbers[rung.id]}_{direction}"


def _table(task: Task, numbers: dict[str, int]) -> str:
    """Both directions of each rung, a missing one from the nearest lower."""
    lines, rows = ["typedef struct { void *forward, *backward; } rung_t;"], []
    lower: dict[str, str] = {}
    for direction in DIRECTIONS:
        if not _defines(task.rungs[0], direction):
            symbol = _symbol(_plain(task, direction), direction, numbers)
            lower[direction] = f"(void *){symbol}"
            lines.append(f"{task.operator}_{direction}_fn {symbol};")
    for rung in task.rungs:
        for direction in DIRECTIONS:
            if _defines(rung, direction):
                symbol = _symbol(rung, direction, numbers)
                lower[direction] = f"(void *){symbol}"
                lines.append(f"{task.operator}_{direction}_fn {symbol};")
        rows.append(", ".join(lower[d] for d in DIRECTIONS))
    body = ", ".join(f"{{{row}}}" for row in rows)
    return "\n".join([*lines, f"static const rung_t RUNGS[] = {{{body}}};", ""])


# ---- cases in, results out -----------------------------------------------------------


def written(
    operator: Operator,
    case: Case,
    inputs: dict[str, torch.Tensor],
    grads: Sequence[torch.Tensor],
    room: Sequence[torch.Tensor | None],
    threads: int = 1,
) -> bytes:
    """One case as the driver reads it."""
    options = operator.signature.pack(case.options)
    number = operators.number(operator.name)
    parts = [struct.pack("<3q", number, threads, len(options)), options]
    given = [*(inputs.get(a.name) for a in operator.signature.inputs), *grads]
    for tensors, filled in ((given, True), (room, False)):
        for i in range(SIDES):
            tensor = tensors[i] if i < len(tensors) else None
            parts.append(_tensor(tensor, filled=filled))
    return b"".join(parts)


def _tensor(tensor: torch.Tensor | None, *, filled: bool) -> bytes:
    if tensor is None:
        return struct.pack("<q", 0)
    numbers = [1, CODES[tensor.dtype], tensor.dim(), *tensor.shape, *tensor.stride()]
    steps = zip(tensor.shape, tensor.stride())
    span = sum((n - 1) * s for n, s in steps) + 1 if tensor.numel() else 0
    head = struct.pack(f"<{len(numbers) + 1}q", *numbers, span)
    if not filled or not span:
        return head
    memory = tensor.as_strided((span,), (1,)).contiguous()
    return head + memory.numpy().tobytes()


def read(data: bytes, room: Sequence[torch.Tensor | None]) -> tuple[int, bytes]:
    """A case's status, its results put into `room`, and what is left of the data."""
    (status,) = struct.unpack_from("<q", data)
    data = data[8:]
    for tensor in room:
        if tensor is None or not tensor.numel():
            continue
        size = tensor.numel() * tensor.element_size()
        values = torch.frombuffer(bytearray(data[:size]), dtype=tensor.dtype)
        tensor.copy_(values.reshape(tensor.shape))
        data = data[size:]
    return status, data
