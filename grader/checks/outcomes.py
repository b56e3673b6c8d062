# SPDX-License-Identifier: MIT
"""Explains in one sentence why a call returned no result, from the worker's end."""

from __future__ import annotations

import re
import signal
from pathlib import Path

from grader.checks.check_result import Finding
from grader.checks.memory import sanitizer_report
from grader.course.foreign import clean, short
from grader.course.rungs import ROOT
from grader.runner.supervisor import wire
from grader.runner.supervisor.session import Outcome, Worker
from grader.verdicts import Verdict

PAGE = 4096
GIB = 1 << 30
LAST_WORDS = 300  # characters of what an abort says
READ_ONLY = "inputs are read-only"

_STATUS = {
    wire.STATUS_NOT_IMPLEMENTED: (Verdict.NOT_IMPLEMENTED, "not written yet"),
    wire.STATUS_INVALID_ARGUMENT: (
        Verdict.WRONG_CONTRACT,
        "returned STATUS_INVALID_ARGUMENT, but the arguments are valid: they were "
        "checked before the call",
    ),
    wire.STATUS_NO_MEMORY: (
        Verdict.LIMIT,
        "ran out of memory: the file needs more than 1.5 GiB. Or it treats the NULL "
        "of an empty tensor as an error",
    ),
    wire.STATUS_CUDA_ERROR: (Verdict.CRASH, "returned STATUS_CUDA_ERROR"),
    wire.STATUS_UNSUPPORTED: (
        Verdict.WRONG_VALUE,
        "returned STATUS_UNSUPPORTED. lab.toml names no `covers` for this file, so it "
        "has to cover every case",
    ),
    wire.REPLY_CONTRACT: (Verdict.WRONG_CONTRACT, ""),
    wire.REPLY_EXCEPTION: (Verdict.CRASH, ""),
    wire.REPLY_EXIT: (Verdict.INCOMPLETE, "made Python exit before it returned"),
    wire.REPLY_FORBIDDEN: (Verdict.FORBIDDEN, ""),
    wire.REPLY_LOAD_ERROR: (Verdict.BUILD, ""),
    wire.REPLY_CHECK: (Verdict.WRONG_CONTRACT, "the worker refused the arguments"),
    wire.REPLY_STATUS: (
        Verdict.WRONG_CONTRACT,
        "returned a number that is not a status_t (common/tensor.h lists them)",
    ),
    wire.REPLY_DEVICE: (  # LIMIT is never kept: it is asked again
        Verdict.LIMIT,
        "the GPU has too little free memory for this case. Either the file uses too "
        "much GPU memory, or another program uses the GPU: run it again",
    ),
    wire.REPLY_WROTE_INPUT: (Verdict.MEMORY_ERROR, "wrote to an input"),
    wire.REPLY_GUARD: (Verdict.MEMORY_ERROR, "wrote outside of a tensor"),
    wire.REPLY_CROWD: (
        Verdict.RACE,
        "two threads called ctx_scratch at the same time. Let one thread call it at a "
        "time (omp critical), or call it before the threads start",
    ),
    wire.REPLY_SCRATCH: (
        Verdict.MEMORY_ERROR,
        "wrote past the end of a block from ctx_scratch",
    ),
}

_OF_C = (
    *range(wire.STATUS_OK, wire.STATUS_UNSUPPORTED + 1),
    *(wire.REPLY_LOAD_ERROR, wire.REPLY_CHECK, wire.REPLY_SCRATCH),
    *(wire.REPLY_STATUS, wire.REPLY_CROWD),
)
_OF_DEVICE = (*_OF_C, wire.REPLY_DEVICE, wire.REPLY_WROTE_INPUT, wire.REPLY_GUARD)
_OF_PYTHON = (
    *(wire.STATUS_OK, wire.STATUS_NOT_IMPLEMENTED, wire.STATUS_NO_MEMORY),
    *(wire.REPLY_CONTRACT, wire.REPLY_EXCEPTION, wire.REPLY_EXIT),
    *(wire.REPLY_FORBIDDEN, wire.REPLY_LOAD_ERROR),
)


def forged(worker: Worker) -> bool:
    """Whether the reply holds a status that no worker of its kind writes there."""
    on_device = worker.program.startswith("worker-cuda")
    writes = _OF_DEVICE if on_device else _OF_C
    writes = _OF_PYTHON if worker.kind == "python" else writes
    return worker.reply.status not in writes


def is_lost(worker: Worker) -> bool:
    """Whether nothing more can be learnt from a worker that came back."""
    return worker.reply.status == wire.REPLY_DEVICE or forged(worker)


def of_status(worker: Worker, case: str) -> Finding | None:
    """What a returned status means; None for STATUS_OK."""
    status = worker.reply.status
    if status == wire.STATUS_OK:
        return None
    if forged(worker):
        text = (
            f"the grader's memory holds status {status}, which the grader never "
            "writes: "
        )
        text += "the file wrote to memory that is not its own"
        return Finding(Verdict.WRONG_CONTRACT, text, case)
    verdict, sentence = _STATUS[status]
    said = worker.message
    explained = (wire.REPLY_CONTRACT, wire.REPLY_EXCEPTION, wire.REPLY_FORBIDDEN)
    if status in (*explained, wire.REPLY_LOAD_ERROR):
        sentence = said or "no reason given"
    elif said:
        sentence = f"{sentence}: {said}"
    match = re.search(r"\(([^()]+:\d+): [^\n]*\)$", sentence)
    return Finding(verdict, sentence, case, match[1] if match else None)


def of_outcome(
    worker: Worker, outcome: Outcome, case: str, names: list[str], limit: float
) -> Finding:
    """What an outcome other than RETURNED means."""
    if outcome is Outcome.TIMEOUT:
        return Finding(Verdict.TIMEOUT, _timeout(worker.state, limit), case)
    if outcome is Outcome.TOO_LARGE:
        return Finding(
            Verdict.GRADER,
            "a tensor of this case does not fit into the grader's shared memory",
            case,
        )
    if outcome is Outcome.NOT_FROZEN:
        message = "the grader could not stop the process between two calls"
        if worker.state == "D":
            message += (
                ": it waits for a disk, or for a thread that it started; run it again"
            )
        return Finding(Verdict.TIMEOUT, message, case)
    return _death(worker, case, names)


def _timeout(state: str, limit: float) -> str:
    doing = {
        "R": "it was still computing: a loop never ends, or the code is far too slow",
        "S": "it was waiting for something that never happens",
        "T": "it had stopped itself",
        "D": "it waited for a disk, or for a thread that it started; run it again",
    }.get(state, "the grader does not know what it was doing")
    return f"did not return within {limit:.1f} s; {doing}"


def _death(worker: Worker, case: str, names: list[str]) -> Finding:
    death, reply = worker.death, worker.reply
    phase = reply.phase
    if not worker.started:
        words = worker.output.decode(errors="replace").strip().splitlines()
        last = words[-1] if words else f"exit code {death.code}, signal {death.signal}"
        return Finding(Verdict.GRADER, f"the worker did not start: {last}", case)
    if not death.signal:
        when = {
            wire.PHASE_LOADING: "while it was being loaded (a constructor?)",
            wire.PHASE_IN_CALL: "before it returned",
        }.get(phase, "between two calls")
        message = f"ended the whole process {when}, with exit code {death.code}"
        return Finding(Verdict.INCOMPLETE, message, case)
    location = locate(worker)
    if death.signal == signal.SIGSYS:
        return Finding(Verdict.LIMIT, _forbidden_call(worker), case, location)
    if death.signal == signal.SIGKILL and worker.memory_ran_out:
        message = "was killed by the system, because memory had run out"
        return Finding(Verdict.LIMIT, message, case)
    if death.signal in (signal.SIGSEGV, signal.SIGBUS) and worker.faulted:
        sentence = _touched(worker, names)
        if sentence and worker.kind == "python":
            if sentence.endswith(READ_ONLY):
                sentence += ": make a new tensor instead of changing this one in place"
            sentence = sanitizer_report.with_source(sentence, location)
        if sentence:
            return Finding(Verdict.MEMORY_ERROR, sentence, case, location)
    return Finding(Verdict.CRASH, _signal(worker), case, location)


def _signal(worker: Worker) -> str:
    number, reply = worker.death.signal, worker.reply
    name = signal.Signals(number).name if number in set(signal.Signals) else str(number)
    if number == signal.SIGSEGV and worker.faulted and reply.fault_address < PAGE:
        return f"{name}: used a NULL pointer (address {reply.fault_address:#x})"
    if number == signal.SIGSEGV and worker.faulted:
        return f"{name}: used an invalid address ({reply.fault_address:#x})"
    meanings: dict[int, str] = {
        signal.SIGABRT: _last_words(worker),
        signal.SIGFPE: "divided an integer by zero",
        signal.SIGKILL: "was killed, but not because memory had run out: did it kill "
        "itself?",
        signal.SIGILL: "ran an instruction this machine does not have",
    }
    return f"{name}: {meanings.get(number, 'ended by a signal')}"


def _last_words(worker: Worker) -> str:
    """Of an abort: what the C++ exception said that nobody caught, or the assertion."""
    text = clean(worker.output.replace(b"\0", b"?"))
    said = re.findall(r"what\(\):\s+(.+)|: (Assertion .+ failed)", text)
    words = short(" ".join(said[-1]).strip(" :"), LAST_WORDS) if said else ""
    return f"aborted itself: {words}" if words else "aborted itself"


def _forbidden_call(worker: Worker) -> str:
    asked = worker.reply.bytes_asked
    if worker.faulted and worker.reply.signo == signal.SIGSYS and asked:
        return (
            f"requested {asked / GIB:.1f} GiB of memory at once: only less than 4 GiB "
            "are allowed"
        )
    return "tried to start another process, which is not allowed"


def _touched(worker: Worker, names: list[str]) -> str:
    """Which tensor a faulting address belongs to, and how far off it is; or nothing.

    Between two slots it may belong to either: the nearest tensor is meant.
    """
    reply, address = worker.reply, worker.reply.fault_address
    verb = {0: "reads", 1: "writes"}.get(reply.fault_write, "touches")
    found: list[tuple[int, str]] = []  # how far off, what to say
    for i, name in enumerate(names):
        at = worker.command.tensor[i]
        if not name or at.slot < 0:
            continue
        inside = i < wire.SIDE_TENSORS
        base = (
            reply.in_base[at.slot]
            if inside
            else reply.out_base[at.bank * wire.SIDE_TENSORS + at.slot]
        )
        first, last = base + at.offset, base + at.offset + at.extent
        off = max(first - address, address - last, 0)
        if base <= address < base + wire.SLOT_BYTES and inside:
            where = "" if first <= address < last else ", before its first element"
            text = f"writes to '{name}'{where}: {READ_ONLY}"
        elif last <= address < base + wire.SLOT_BYTES + PAGE:
            past = f"{off} bytes past" if off else "right past"
            text = f"{verb} {past} the end of '{name}'"
        elif base - PAGE <= address < first:
            text = f"{verb} {off} bytes before the start of '{name}'"
        else:
            continue
        found.append((off, text))
    return min(found, default=(0, ""))[1]


def locate(worker: Worker) -> str | None:
    """The student's line it died in: by addr2line, in Python by the traceback."""
    if worker.kind == "python":
        lines = re.findall(
            r'File "([^"]+)", line (\d+)', worker.output.decode("utf8", "replace")
        )
        own = (f"{Path('labs')}/", "/student", "/convlab_ext/")
        theirs = [(f, n) for f, n in lines if not f.startswith(f"{ROOT}/grader/")]
        ours = [(f, n) for f, n in theirs if any(part in f for part in own)]
        return f"{ours[0][0]}:{ours[0][1]}" if ours else None
    reply = worker.reply
    if not worker.faulted or not reply.module_base:
        return None
    library = worker.libraries[reply.direction == 1]
    # all but the first are where a call returns to, which is behind it
    chain = [a - (i > 0) - reply.module_base for i, a in enumerate(reply.frame)]
    size = library.stat().st_size * 4
    inside = [(library, a) for a in chain[: reply.frames] if 0 <= a < size]
    return sanitizer_report.student_line(worker, inside)
