# SPDX-License-Identifier: MIT
"""Reads the innermost loops of a shared object for x86-64: multiply-adds, loads,
spills.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.errors import GraderError

_INSTRUCTION = re.compile(r"\s+([0-9a-f]+):\s+(\S+)\s*([^#]*)")
_LINE = re.compile(r"(\S+):(\d+)( \(discriminator \d+\))?$")
_TARGET = re.compile(r"([0-9a-f]+) <")
_MULTIPLY_ADD = re.compile(r"vf(n?m(add|sub))\d+([ps][sd])")
_MULTIPLY = re.compile(r"v?(mul|add|sub)([ps][sd])$")
_STACK, _FRAME = re.compile(r"\(%rsp"), re.compile(r"\(%r[sb]p")


@dataclass(frozen=True)
class Instruction:
    """One of them, with the line of source that it comes from; 0: unknown."""

    at: int
    name: str
    operands: str
    line: int


@dataclass(frozen=True)
class Loop:
    """The instructions of an innermost loop."""

    body: tuple[Instruction, ...]
    frame: bool  # whether rbp holds the function's frame, not just any pointer

    @property
    def lines(self) -> tuple[int, int]:
        """First and last line of source; (0, 0) if nobody knows."""
        lines = [i.line for i in self.body if i.line]
        return (min(lines), max(lines)) if lines else (0, 0)

    @property
    def multiply_adds(self) -> int:
        """Fused ones, whatever their width."""
        return sum(bool(_MULTIPLY_ADD.match(i.name)) for i in self.body)

    @property
    def arithmetic(self) -> int:
        """Multiplications and additions, fused or not."""
        apart = sum(bool(_MULTIPLY.match(i.name)) for i in self.body)
        return self.multiply_adds + apart

    @property
    def scalars(self) -> int:
        """Those of the arithmetic that work on one number at a time."""
        kinds = [m[3] for i in self.body if (m := _MULTIPLY_ADD.match(i.name))]
        kinds += [m[2] for i in self.body if (m := _MULTIPLY.match(i.name))]
        return sum(kind.startswith("s") for kind in kinds)

    @property
    def is_scalar(self) -> bool:
        """Whether all arithmetic is on one number at a time."""
        return 0 < self.scalars == self.arithmetic

    @property
    def loads(self) -> int:
        """Vectors and numbers that come from memory; a store's operand is its last."""
        return sum(not i.operands.endswith(")") for i in self.in_memory())

    @property
    def spills(self) -> int:
        """Vectors that go to the stack or come from it."""
        return sum(self.is_on_stack(i) for i in self.in_memory())

    def is_on_stack(self, instruction: Instruction) -> bool:
        """Whether it reads or writes its function's frame."""
        stack = _FRAME if self.frame else _STACK
        return bool(stack.search(instruction.operands))

    def in_memory(self) -> list[Instruction]:
        """Those that move or use vectors and numbers in memory."""
        return [
            i
            for i in self.body
            if re.search("%[xyz]mm", i.operands) and "(" in i.operands
        ]


def loops(compiled: Path, source: Path) -> list[Loop]:
    """Of all functions of an object that was made of a source; what comes from a
    header counts for the line before. Raises GraderError without objdump.
    """
    if not shutil.which("objdump"):
        raise GraderError(
            "make profile needs objdump: install it with apt-get install binutils"
        )
    command = ["objdump", "-d", "-l", "--no-show-raw-insn", str(compiled)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    functions = re.split(r"(?m)^[0-9a-f]+ <[^>]+>:\n", done.stdout)[1:]
    return [loop for code in functions for loop in _innermost(code, source.name)]


def _innermost(code: str, source: str) -> Iterator[Loop]:
    """A jump back closes a loop; loops around others are left out."""
    steps, line = [], 0
    for text in code.splitlines():
        if place := _LINE.match(text):
            line = int(place[2]) if Path(place[1]).name == source else line
        elif found := _INSTRUCTION.match(text):
            at = int(found[1], 16)
            steps.append(Instruction(at, found[2], found[3].strip(), line))
    if not steps:
        return
    back = []
    for step in steps:
        target = _TARGET.match(step.operands) if step.name.startswith("j") else None
        if target and steps[0].at <= int(target[1], 16) <= step.at:
            back.append((int(target[1], 16), step.at))
    frame = any(step.operands == "%rsp,%rbp" for step in steps)
    for first, last in back:
        inside = [b for b in back if first <= b[0] and b[1] <= last]
        if len(inside) == 1:
            yield Loop(tuple(s for s in steps if first <= s.at <= last), frame)
