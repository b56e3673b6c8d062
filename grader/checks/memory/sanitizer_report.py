# SPDX-License-Identifier: MIT
"""Turns a sanitizer's report into one sentence: which buffer, how far off, which line.

AddressSanitizer and UBSan print their reports into the worker's output. A report has
addresses of code, and addr2line finds their lines. The worker's reply page says which
tensor an address belongs to. All of it comes from a process that runs student code. So
it can only cost points or give a message its words; no check passes because of it.
"""

from __future__ import annotations

import math
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from grader.checks.check_result import Finding
from grader.course import quoted_line
from grader.course.foreign import THE_LINE, clean, cleaned, short
from grader.runner.supervisor import wire
from grader.runner.supervisor.session import ROOT, Worker
from grader.verdicts import Verdict

ELEMENT = (2, 2, 4, 8, 4, 8)  # bytes, by dtype code
NEAR = 4096  # bytes around a tensor that are called its surroundings

_REPORT = re.compile(r"ERROR: AddressSanitizer: (?P<kind>[\w-]+)|: runtime error: ")
_FRAME = re.compile(r"^ +#\d+ 0x[0-9a-f]+ +\(([^()]+)\+(0x[0-9a-f]+)\)")
_ACCESS = re.compile(r"^(READ|WRITE) of size (\d+) at (0x[0-9a-f]+)", re.M)
_REGION = re.compile(
    r"is located \d+ bytes (?:to the left of|to the right of|inside of|before|after|"
    r"inside) (\d+)-byte region \[(0x[0-9a-f]+),"
)
_LOCAL = re.compile(
    r"\[(\d+), (\d+)\) '([^']+)'(?: \(line \d+\))? <== Memory access at offset (\d+)"
)
_GLOBAL = re.compile(
    r"is located (\d+) bytes (?:to the )?(left of|right of|before|after|inside of|"
    r"inside) global variable '(?:\*\.)?([^']+)' "
)
_STRING = re.compile(r"\.?LC\d+|<string literal>")  # gcc's name for it, and clang's
_UNDEFINED = (
    (
        r"signed integer overflow: (.*) cannot be represented in type '([^']+)'.*",
        r"overflows a signed integer: \1 does not fit into '\2'. Use int64_t for "
        r"indices",
    ),
    (
        r"shift exponent (-?\d+) is too large for (\d+)-bit type '([^']+)'.*",
        r"shifts by \1 bits, but '\3' has \2",
    ),
    (r"shift exponent (-\d+) is negative.*", r"shifts by \1 bits"),
    (
        r"left shift of (.*) by (\d+) places cannot be represented in type '([^']+)'.*",
        r"shifts \1 left by \2 bits, which does not fit into '\3'",
    ),
    (
        r"index (-?\d+) out of bounds for type '([^']+)'.*",
        r"uses index \1 of an array of type '\2', which has no such element",
    ),
    (
        r"(load|store) (?:of|to) misaligned address \S+ for type '([^']+)', which "
        r"requires (\d+) byte alignment.*",
        r"\1s '\2' at an address that is not a multiple of \3. A tensor is aligned "
        r"only to the size of one element",
    ),
    (
        r"member access within misaligned address \S+ for type '([^']+)', which "
        r"requires (\d+) byte alignment.*",
        r"uses a '\1' at an address that is not a multiple of \2. A tensor is aligned "
        r"only to the size of one element",
    ),
    (r"division by zero.*", r"divides an integer by zero"),
    (r".*null pointer.*", r"uses a NULL pointer"),
)
_PLAIN_CRASH = ("NULL pointer", "integer by zero", "aborts itself")


@dataclass(frozen=True)
class Place:
    """A line of source, and the function it is in."""

    function: str
    file: str  # as seen from the repository's root
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def read(worker: Worker, case: str, names: list[str]) -> Finding | None:
    """The report in a dead worker's output; None if there is none."""
    text = clean(worker.output.replace(b"\0", b"?"))
    found = list(_REPORT.finditer(text))
    if not found:
        return None
    match = found[-1]
    begin = text.rfind("\n", 0, match.start()) + 1
    report = text[begin:]
    if match["kind"]:
        sentence = _address(worker, match["kind"], report, names)
    else:
        sentence = _undefined(report[match.end() - begin :].split("\n")[0])
    at = student_line(worker, _frames(report)) or _printed(report)
    crash = any(words in sentence for words in _PLAIN_CRASH)
    verdict = Verdict.CRASH if crash else Verdict.MEMORY_ERROR
    return Finding(verdict, with_source(sentence, at), case, at)


# ---- lines ---------------------------------------------------------------------------


def _frames(report: str) -> list[tuple[Path, int]]:
    """The first call chain of a report: modules and offsets, innermost first."""
    frames: list[tuple[Path, int]] = []
    for line in report.splitlines():
        match = _FRAME.match(line)
        if match:
            frames.append((Path(match[1]), int(match[2], 16)))
        elif frames:
            break
    return frames


def places(library: Path, offsets: list[int]) -> list[Place]:
    """The lines of some addresses, each with those it was inlined into."""
    command = ["addr2line", "-f", "-i", "-e", str(library), *map(hex, offsets)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return []
    lines = cleaned(done.stdout.decode(errors="replace")).split("\n")
    found = []
    for function, place in zip(lines[::2], lines[1::2]):
        file, _, number = place.split(" ")[0].rpartition(":")
        if number.isdigit() and file != "??":
            shown = str(Path(file).resolve()).removeprefix(f"{ROOT}/")
            found.append(Place(function, shown, int(number)))
    return found


def student_line(worker: Worker, frames: list[tuple[Path, int]]) -> str | None:
    """The innermost line of a rung; common/ is not theirs."""
    for library in dict.fromkeys(worker.libraries):
        offsets = [offset for module, offset in frames if module == library]
        for place in places(library, offsets) if offsets else []:
            if not place.file.startswith("common/"):
                return str(place)
    return None


def _printed(report: str) -> str | None:
    """UBSan names the line itself."""
    match = re.match(r"(\S+:\d+):\d+: runtime error", report)
    return match[1].removeprefix(f"{ROOT}/") if match else None


def source(location: str | None) -> str:
    """The text of a line of the repository."""
    if not location:
        return ""
    file, _, number = location.rpartition(":")
    try:
        text = quoted_line.line(file, int(number))
    except ValueError:  # more digits than a number may have
        return ""
    return short(re.sub(r"\s*//.*", "", text).strip().removesuffix(";"), 120)


def with_source(sentence: str, location: str | None) -> str:
    """The sentence, then the line it is about."""
    text = source(location)
    return f"{sentence}{THE_LINE}{text}" if text else sentence


# ---- AddressSanitizer ----------------------------------------------------------------


def _beside_global(match: re.Match[str]) -> str:
    """Where an access lies beside memory of the program itself."""
    before = match[2] in ("left of", "before")
    where = "before the start" if before else "past the end"
    off = "right" if match[1] == "0" else f"{match[1]} bytes"
    what = f"the static array '{match[3]}'"
    if _STRING.fullmatch(match[3]):
        what = "a string constant of the file"
    return f"{off} {where} of {what}"


def _address(worker: Worker, kind: str, report: str, names: list[str]) -> str:
    access = _ACCESS.search(report)
    if kind == "SEGV":
        return _segv(report)
    if not access:
        return _OTHER.get(kind, f"AddressSanitizer reports {kind}")
    verb = "reads" if access[1] == "READ" else "writes"
    size, address = int(access[2]), int(access[3], 16)
    if match := _LOCAL.search(report):
        return f"{verb} {_local(match)}"
    if named := list(_GLOBAL.finditer(report)):
        nearest = min(named, key=lambda match: int(match[1]))
        return f"{verb} {_beside_global(nearest)}"
    region = _REGION.search(report)
    if region:
        begin, extent = int(region[2], 16), int(region[1])
        gone = kind == "heap-use-after-free"
        tensor = _tensor(worker, begin, names)
        if tensor is not None and not gone:
            if verb == "writes" and tensor < wire.SIDE_TENSORS:
                # inputs are const: a result beside it was left
                left = _nearest(worker, address, names, results=True)
                tensor = tensor if left is None else left
            return f"{verb} {_in_tensor(worker, tensor, names, address, size)}"
        block = _block(report, extent)
        if gone:
            freed = "had been freed before"
            if "malloc" not in block:
                freed = "was freed when an earlier call returned"
            return f"{verb} {block} that {freed}"
        if across := _across(address, size, begin, extent):
            return f"{verb} {size} bytes of {block}, {across}"
        return f"{verb} {block}, {_off(address, begin, extent, 0)}"
    near = _nearest(worker, address, names)
    if near is not None:
        return f"{verb} {_in_tensor(worker, near, names, address, size)}"
    return (
        f"{verb} {size} bytes that belong to no tensor, array or other block of memory"
    )


_OTHER = {
    "FPE": "divides an integer by zero",
    "stack-overflow": "runs out of stack: does it use recursion, or very large local "
    "arrays?",
    "attempting": "frees memory that did not come from malloc",
    "negative-size-param": "calls memcpy or memset with a negative size",
    "memcpy-param-overlap": "calls memcpy with memory that overlaps",
    "ABRT": "aborts itself",
    "ILL": "runs an instruction that this machine does not have",
}


def _segv(report: str) -> str:
    verb = "writes to" if "caused by a WRITE" in report else "reads"
    if "high value address" in report:
        return (
            f"{verb} memory at an invalid address: does it use a negative index of "
            "NULL?"
        )
    address = re.search(r"unknown address (?:\((0x[0-9a-f]+)\)|(0x[0-9a-f]+))", report)
    number = int((address[1] or address[2]) if address else "0", 16)
    if "zero page" in report:
        return f"{verb} a NULL pointer (address {number:#x})"
    return f"{verb} memory at an invalid address ({number:#x})"


def _across(address: int, size: int, begin: int, extent: int) -> str:
    """Of an access that begins inside of a block and ends behind it: how far behind."""
    past = address + size - (begin + extent)
    if not begin <= address < begin + extent or past <= 0:
        return ""
    return f"the last {past} of them past its end"


def _off(address: int, begin: int, extent: int, element: int) -> str:
    """How far an address is from a block: 16 bytes (4 elements) past its end."""
    past = address - (begin + extent)
    count, where = (
        (past, "past its end") if past >= 0 else (begin - address, "before its start")
    )
    if begin <= address < begin + extent:
        return f"{address - begin} bytes from its start"
    if count == 0:
        return "right past its end"
    elements = f" ({count // element} elements)" if element else ""
    return f"{count} bytes{elements} {where}"


def _bounds(worker: Worker, i: int) -> tuple[int, int]:
    """Where tensor `i` begins in the worker, and its bytes."""
    at = worker.command.tensor[i]
    if i < wire.SIDE_TENSORS:
        base = worker.reply.in_base[at.slot]
    else:
        base = worker.reply.out_base[at.bank * wire.SIDE_TENSORS + at.slot]
    return (int(base) + at.offset) % (1 << 64), int(at.extent)


def _present(worker: Worker, names: list[str]) -> list[int]:
    slots = worker.command.tensor
    return [i for i, name in enumerate(names) if name and slots[i].slot >= 0]


def _tensor(worker: Worker, begin: int, names: list[str]) -> int | None:
    """The tensor whose block begins there."""
    for i in _present(worker, names):
        if _bounds(worker, i)[0] == begin and worker.command.tensor[i].extent:
            return i
    return None


def tensor_at(worker: Worker, address: int, names: list[str]) -> str:
    """The name of the tensor that an address lies in; "" if it is in none."""
    for i in _present(worker, names):
        begin, extent = _bounds(worker, i)
        if begin <= address < begin + extent:
            return names[i]
    return ""


def _nearest(
    worker: Worker, address: int, names: list[str], *, results: bool = False
) -> int | None:
    """The tensor around or near an address; of the results alone if that is asked."""
    best, distance = None, NEAR
    for i in _present(worker, names):
        if results and i < wire.SIDE_TENSORS:
            continue
        begin, extent = _bounds(worker, i)
        off = max(begin - address, address - (begin + extent), 0)
        if off < distance:
            best, distance = i, off
    return best


def _in_tensor(
    worker: Worker, i: int, names: list[str], address: int, size: int
) -> str:
    """'input' 16 bytes (4 elements) past its end: element 508, index [2, 0, 0, 4]."""
    begin, extent = _bounds(worker, i)
    at = worker.command.tensor[i]
    element = ELEMENT[at.dtype]
    sizes, strides = list(at.size[: at.ndim]), list(at.stride[: at.ndim])
    number = (address - begin) // element
    text = f"'{names[i]}' {_off(address, begin, extent, element)}: element {number}"
    but = "but its"
    if across := _across(address, size, begin, extent):
        text = f"{size} bytes of '{names[i]}', {across}: they begin at element {number}"
        but = "its"
    dense = [math.prod(sizes[d + 1 :]) for d in range(len(sizes))]
    if number < 0 or not sizes:
        return f"{text} of {extent // element}"
    if strides != dense:
        return f"{text} of its memory; its strides are {strides} for sizes {sizes}"
    index = [number // step for step in dense[:1]]
    index += [number // step % size for step, size in zip(dense[1:], sizes[1:])]
    return f"{text}, index {index}, {but} shape is {sizes}"


def _block(report: str, extent: int) -> str:
    """A block that is no tensor of this call: by who asked for it."""
    made = report.partition("allocated by thread")[2]
    ours = [(m, o) for m, o in _frames(made) if m.name == "worker-asan"]
    if not ours:
        return f"a block of {extent} bytes from malloc"
    who = {place.function for place in places(ours[0][0], [o for _, o in ours])}
    if "sanitized_enter" in who:
        return f"a tensor of {extent} bytes"
    return f"a scratch block of {extent} bytes"


def _local(match: re.Match[str]) -> str:
    first, last, name, offset = int(match[1]), int(match[2]), match[3], int(match[4])
    return f"the local array '{name}' {_off(offset, first, last - first, 0)}"


# ---- UBSan ---------------------------------------------------------------------------


def _undefined(text: str) -> str:
    for pattern, words in _UNDEFINED:
        match = re.fullmatch(pattern, text.strip())
        if match:
            return match.expand(words)
    return f"has undefined behaviour: {text.strip()}"
