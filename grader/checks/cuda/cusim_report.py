# SPDX-License-Identifier: MIT
"""Turns the report of cusim about a call into a verdict, a sentence and a line.

The report is in the reply page, which exists longer than the worker. Student code runs
in the worker and could write there too. So a report can only cost points or give a
message its words. No check passes because of a report. The only exception is the count
of moved bytes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from cusim import report as cusim
from cusim.report import Report

from grader.checks import named_mistakes
from grader.checks.check_result import NONSENSE
from grader.checks.check_result import Finding as Found
from grader.checks.memory import sanitizer_report
from grader.course import quoted_line
from grader.course.foreign import clean
from grader.course.rungs import ROOT
from grader.runner.supervisor import wire
from grader.runner.supervisor.session import Worker
from grader.verdicts import Verdict

_RACES = (
    "race",
    "divergent_barrier",
    "deadlock",
    "divergent_collective",
    "wrong_mask",
    "early_exit",
    "spin",
)
_CRASHES = ("bad_launch", "bad_stream", "trap", "assert", "outside_kernel")
_VERDICTS = {
    **dict.fromkeys(_RACES, Verdict.RACE),
    **dict.fromkeys(_CRASHES, Verdict.CRASH),
    **dict.fromkeys(
        (
            *("unchecked_launch", "default_stream", "few_threads"),
            *("read_back", "managed", "host_variable", "printed", "sent"),
        ),
        Verdict.WRONG_CONTRACT,
    ),
}
_INSTEAD = {  # sentences for a rung, where a program's own would mislead
    "unchecked_launch": "launches a kernel and does not check whether the launch "
    "failed: write CUDA_TRY(ctx, cudaGetLastError()) on the next line",
    "leak": "allocates device memory and never frees it. Take the memory from "
    "ctx_scratch: it is freed after the call",
}
_ADVICE = {  # to a program that copies tensors itself; to a rung
    "; copy it with cudaMemcpy first": ". The launcher runs on the CPU, so it must "
    "not read or write tensor data or scratch memory. Let a kernel read and write them",
}
_SHARED, _BLOCKS = "shared memory", "threads of different blocks"
_BETWEEN = re.compile(
    r"put (__syncwarp\(\) or )?__syncthreads\(\) between the two accesses"
)
# of an exhibit's race
_ORDERS = "which line of the kernel should order the two accesses?"
_NEXT_TURN = (
    "a __syncthreads() stands at line {}, between the two lines. Does one access "
    "belong to the next iteration of the loop? Then put another __syncthreads() at "
    "the end of the loop's body"
)
_SKIPPED = (
    "some threads of the block skip the __syncthreads() at line {}: let every thread "
    "of the block reach it"
)
_CONDITION = re.compile(r"\b(if|else|while|for)\b.*__syncthreads")
_PAST = re.compile(
    r"(?P<off>\d+) bytes past the end of the \d+ bytes allocated in "
    r"tensor:(?P<number>\d+)"
)
_PAST_SCRATCH = re.compile(
    r"(?:reads|writes) (?P<access>\d+) bytes (?P<off>\d+) bytes past the end of the "
    r"(?P<bytes>\d+) bytes allocated in scratch:"
)
_NUMBER = re.compile(r", as thread (\d+) of \d+ in the grid")
_RETURN_EARLY = (
    " and this is thread {}, counted from 0. Threads past the end must not access "
    "memory: return early, or skip the access if a barrier follows"
)
_TENSOR = re.compile(
    r"(?:(?P<off>\d+) bytes (?P<where>into|in front of) )?"
    r"the (?P<bytes>\d+) bytes allocated in tensor:(?P<number>\d+)"
)
_READ_ONLY = re.compile(
    r".* writes \d+ bytes into the \d+ bytes allocated in tensor:(?P<number>\d+), "
    "which is read-only"
)
_SCRATCH = re.compile(r"the (\d+) bytes allocated in scratch:\d+")
_FREED = re.compile(r"memory allocated in (?:tensor|scratch):\d+ and freed in \S+")


def report_of(worker: Worker) -> Report:
    """All that was reported of the last call; what makes no sense is left out."""
    text = clean(bytes(worker.reply.report))
    if not text:
        return Report()
    try:
        return cusim.parse(text)
    except (*NONSENSE, TypeError, AttributeError):
        return Report()


def finding(
    worker: Worker, case: str, names: list[str], warnings: Iterable[str] = ()
) -> Found | None:
    """The last call's first error, else its first warning of a kind that is named."""
    counted = set(warnings)
    all_found = report_of(worker).findings
    errors = [found for found in all_found if found.level == "error"]
    for found in [*errors, *(f for f in all_found if f.kind in counted)]:
        place = _place(found)
        if found.kind == "unchecked_launch" and not place:
            continue  # a helper of launch.h leaves the question to its caller
        return _worded(found, place, case, worker, names)
    if worker.reply.status == wire.REPLY_WROTE_INPUT:
        return _wrote_input(worker.message, case, names)
    if worker.reply.status == wire.REPLY_GUARD:
        return _wrote_around(worker.message, case, names)
    return None


def as_question(sentence: str) -> str:
    """A sentence about an exhibit: a question in place of the repair."""
    return _BETWEEN.sub(_ORDERS, sentence).replace("?. ", "? ")


def _place(found: cusim.Finding) -> str | None:
    """The first place in a rung; common/ is not theirs."""
    for place in found.places:
        file = place.file.removeprefix(f"{ROOT}/")
        if place.line > 0 and not file.startswith(("common/", "grader/", "?", "/usr/")):
            return f"{file}:{place.line}"
    return None


def _worded(
    found: cusim.Finding,
    place: str | None,
    case: str,
    worker: Worker,
    names: list[str],
) -> Found:
    """A finding of cusim in the grader's words."""
    sentence = _INSTEAD.get(found.kind, found.sentence)
    for former, advice in _ADVICE.items():
        sentence = sentence.replace(former, advice)
    if _BETWEEN.search(sentence):
        sentence = _BETWEEN.sub(lambda m: _barrier(m, found.places), sentence)
    spare = _spare(found.sentence, worker, names)
    sentence = _READ_ONLY.sub(lambda m: _input(m, names), sentence)
    sentence = _TENSOR.sub(lambda m: _tensor(m, worker, names), sentence)
    sentence = sentence.replace(" 0 bytes past the end", " right past the end")
    sentence = _SCRATCH.sub(r"a scratch block of \1 bytes", sentence)
    sentence = _FREED.sub("memory of an earlier call", sentence)
    who = [str(p) for p in found.places if p.block or len(found.places) > 1]
    if who:
        listed = "; ".join(who[:3])
        sentence += f". Where: {listed}" if len(who) > 1 else f" ({listed})"
    sentence += spare
    verdict = _VERDICTS.get(found.kind, Verdict.MEMORY_ERROR)
    name = named_mistakes.BOUNDS_CHECK_MISSING if spare else _named(found)
    sentence = sanitizer_report.with_source(sentence, place)
    return Found(verdict, sentence, case, place, name)


def _named(found: cusim.Finding) -> str | None:
    """The mistake that a race shows: one without an order between two accesses, one
    that an index makes.
    """
    accesses = sorted(place.what for place in found.places)
    if found.kind != "race":
        return None
    if accesses == ["read", "written"] and _SHARED in found.sentence:
        return named_mistakes.BARRIER_MISSING
    if accesses == ["written", "written"] and _BLOCKS in found.sentence:
        return named_mistakes.BLOCKS_SHARE_AN_ELEMENT
    return None


def _barrier(asked: re.Match[str], places: Sequence[cusim.Place]) -> str:
    """What is said of a barrier: that one is asked for, or, where one stands between
    the lines of two accesses, why it does not order them.
    """
    if len(places) != 2 or places[0].file != places[1].file:
        return asked[0]
    first, last = sorted(place.line for place in places)
    for number in range(first + 1, last):
        text = quoted_line.line(places[0].file, number).partition("//")[0]
        if "__syncthreads();" in text.replace(" ", ""):
            skipped = _CONDITION.search(text)
            return (_SKIPPED if skipped else _NEXT_TURN).format(number)
    return asked[0]


def _spare(sentence: str, worker: Worker, names: list[str]) -> str:
    """Of an access right past a tensor by the thread that would own it: the tensor
    has so many rows, or elements, and the thread a number that none of them has. The
    same of a block of scratch, whose elements are as large as the access.
    """
    past, numbered = _PAST.search(sentence), _NUMBER.search(sentence)
    scratch = _PAST_SCRATCH.search(sentence)
    if scratch and numbered:
        return _spare_of_scratch(scratch, int(numbered[1]))
    if not past or not numbered or int(past["number"]) >= len(names):
        return ""
    at = worker.command.tensor[int(past["number"])]
    sizes = list(at.size[: at.ndim]) or [1]
    element = sanitizer_report.ELEMENT[at.dtype]
    count, thread = math.prod(sizes), int(numbered[1])
    if not count or count * element != at.extent:  # a view, or empty
        return ""
    accessed = count + int(past["off"]) // element
    for axes in range(1, len(sizes) + 1):
        rows = math.prod(sizes[:axes])
        if thread >= rows and accessed // (count // rows) == thread:
            name = names[int(past["number"])]
            what = ("element" if rows == count else "row") + "s" * (rows > 1)
            return f". '{name}' has {rows} {what}" + _RETURN_EARLY.format(thread)
    return ""


def _spare_of_scratch(past: re.Match[str], thread: int) -> str:
    """The same of a block of scratch memory."""
    access, off, extent = (int(past[key]) for key in ("access", "off", "bytes"))
    if extent % access or (extent + off) != thread * access:
        return ""
    elements = f"{extent // access} element" + "s" * (extent != access)
    room = f". The block has room for {elements} of {access} bytes"
    return room + _RETURN_EARLY.format(thread)


def _tensor(match: re.Match[str], worker: Worker, names: list[str]) -> str:
    """A tensor in place of the block it lies in. The block begins up to 12 bytes before
    it, so that the tensor's address has the same rest by 16 as the grader's.
    """
    number = int(match["number"])
    name = names[number] if number < len(names) else ""
    if not name:
        return match[0]
    extent = int(worker.command.tensor[number].extent)
    tensor_words = f"'{name}', which has {extent} bytes"
    if not match["where"]:
        return tensor_words
    front = int(match["bytes"]) - extent
    inside = match["where"] == "into"
    off = int(match["off"]) - front if inside else int(match["off"]) + front
    if off < 0:
        return f"{-off} bytes in front of {tensor_words}"
    return f"{off} bytes {match['where']} {tensor_words}"


def _input(match: re.Match[str], names: list[str]) -> str:
    """A write to an input, whose place the report names."""
    number = int(match["number"])
    if number >= len(names):
        return match[0]
    return f"writes to its input '{names[number]}': inputs are read-only"


def _tensor_and_bytes(message: str, names: list[str]) -> tuple[str, int]:
    """The name of a tensor, and a number of bytes; no name and 0 for other words, which
    student code can write there.
    """
    match = re.fullmatch(r"(\d{1,9}) (-?\d{1,18})", message)
    if not match or int(match[1]) >= len(names):
        return "", 0
    return names[int(match[1])], int(match[2])


def _wrote_around(message: str, case: str, names: list[str]) -> Found:
    """On a card: the bytes before and behind each tensor are not what they were."""
    name, byte = _tensor_and_bytes(message, names)
    where = f"{byte} bytes past the end of" if byte > 0 else "right past the end of"
    where = f"{-byte} bytes before the start of" if byte < 0 else where
    return Found(Verdict.MEMORY_ERROR, f"wrote {where} '{name}'", case)


def _wrote_input(message: str, case: str, names: list[str]) -> Found:
    """The worker compared inputs with what they were."""
    name, byte = _tensor_and_bytes(message, names)
    where = f"byte {byte}" if byte >= 0 else "the bytes before its start"
    text = f"wrote to its input '{name}', {where}: inputs are read-only"
    return Found(Verdict.MEMORY_ERROR, text, case)
