# SPDX-License-Identifier: MIT
"""Holds the subject of a check: a rung's built files, and the workers that run them.

A Subject keeps one worker per library from check to check. If a worker has died, the
Subject starts another one. So a crash only fails its case.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import torch

from grader import operators
from grader.checks import outcomes
from grader.checks.check_result import NONSENSE, Finding, Stopped
from grader.checks.cuda import cusim_report
from grader.checks.memory import sanitizer_report
from grader.checks.printed import LOADED, Words, keep
from grader.course.rungs import DIRECT, HALF
from grader.operators import Case, Operator
from grader.operators.entry import Tensors
from grader.operators.primitives import COMPUTED_BY_RUNGS, PLUMBING
from grader.runner import programs
from grader.runner.supervisor import wire
from grader.runner.supervisor.call import Call, Output, Placement, Run
from grader.runner.supervisor.session import Outcome, Worker
from grader.verdicts import Verdict

S = TypeVar("S", bound="Subject")

DTYPES = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16}
EVERYWHERE = ("f32", "f64")  # each rung has these; f16 is for some of lab 04
WHOLE = "lab.toml names no `covers` for this file, so it has to cover every case"
LOAD_LIMIT = 20.0  # seconds for a Python file's own top level
CHECK_LIMIT = 90.0  # and for all calls of one check together


class Subject:
    """A rung as the checks see it. Close it when done."""

    program = ""  # the worker that runs its libraries, where they do not tell

    def __init__(
        self,
        operator: Operator,
        *,
        libraries: dict[str, tuple[Path, Path]] | None = None,
        source: Path | None = None,
        package: Path | None = None,
        shown: str = "",
        warm: Worker | None = None,
        numerics: str = DIRECT,
        numerics_for: Sequence[str] = (),
        covers: Mapping[str, Sequence[str]] | None = None,
        has_forward: bool = True,
    ) -> None:
        """`libraries`: dtype -> files that define forward, backward. `source`: a Python
        file, `package` the folder that holds convlab_ext, `shown` its name in messages,
        `warm` a Python worker that was started early. `numerics`: the class of its
        results in cases of the tags `numerics_for`, or in all. `covers`: result -> tags
        of the cases that it must cover, or {}. `has_forward`: whether it defines it.
        """
        self.operator = operator
        self.number = operators.number(operator.name)
        self.libraries = libraries or {}
        self.source = source
        self.package = package
        self.shown = shown
        self.numerics, self.numerics_for = numerics, numerics_for
        self.covers = covers or {}
        self.has_forward = has_forward
        self.left: frozenset[int] = frozenset()  # outputs that the last call left
        self.refused: dict[str, set[str]] = {}  # direction -> cases it leaves whole
        self.warnings: tuple[str, ...] = ()  # of cusim, that count as findings
        self.words: Words = {}  # what its workers print; who shows it empties it
        self._warm = warm
        self._workers: dict[str, Worker] = {}
        self._spent = 0.0  # by workers that are gone
        self.begin()

    def judges(self, other: S) -> S:
        """Another build of the same rung, which is judged as this one."""
        other.numerics, other.numerics_for = self.numerics, self.numerics_for
        other.covers, other.has_forward = self.covers, self.has_forward
        other.refused = self.refused
        return other

    def numerics_of(self, case: Case) -> str:
        """The class of its results in a case."""
        tags = self.operator.tags(case)
        fits = not self.numerics_for or any(tags[tag] for tag in self.numerics_for)
        return self.numerics if fits else DIRECT

    def asks(self, case: Case, direction: str) -> bool:
        """Whether a direction has something to do in a case that the rung covers."""
        refused = self.refused.get(direction, ())
        return case.name not in refused and self.operator.asks(case, direction)

    @property
    def saves(self) -> bool:
        """Whether its own forward makes what backward is handed, else the reference."""
        return self.python or (self.has_forward and not self.covers)

    def begin(self, seconds: float = CHECK_LIMIT) -> None:
        """A check starts: from now on its calls share so many seconds."""
        self._seconds, self._end = seconds, time.monotonic() + seconds

    def cpu_seconds(self) -> float:
        """Time on a core that its workers and this process have had: what a budget
        counts, so that a busy machine sees as many cases as an idle one.
        """
        alive = sum(worker.cpu_seconds for worker in self._workers.values())
        return time.process_time() + self._spent + alive

    @property
    def python(self) -> bool:
        """Whether this is a rung of lab 01, or of lab 05."""
        return self.source is not None or self.package is not None

    @property
    def on_device(self) -> bool:
        """Whether its libraries are CUDA, run by cusim or on a card."""
        return any(
            programs.program_of(forward) != programs.program_of(Path())
            for forward, _ in self.libraries.values()
        )

    def cases(self, seed: int) -> list[Case]:
        """Its operator's cases; cusim takes too long for large ones."""
        cases = self.operator.cases(seed)
        return [case for case in cases if not (case.large and self.on_device)]

    @property
    def dtypes(self) -> list[str]:
        """The dtypes it has to be right in; f16 is a check of its own."""
        usual = ["f16"] if self.numerics == HALF else ["f32", "f64"]
        return usual if self.python else [d for d in usual if d in self.libraries]

    def worker(self, dtype: str) -> Worker:
        """A live worker that has loaded the rung. Raises Stopped if it cannot."""
        key = "python" if self.python else dtype
        if key not in self._workers:
            self._workers[key] = self._start(dtype)
        return self._workers[key]

    def _start(self, dtype: str) -> Worker:
        if self.python:
            seen = [self.package] if self.package else []
            worker, self._warm = self._warm or Worker.for_python(*seen), None
        else:
            worker = self._launch(dtype)
        try:
            begun = time.monotonic()
            outcome = worker.wait_ready()
            if (
                self.python
            ):  # importing torch is our time, and nothing of theirs has run
                self._end += time.monotonic() - begun
            if self.python and outcome is Outcome.RETURNED:
                source = self.source.read_bytes() if self.source else b""
                text = self.header() + b"\n" + source
                worker.spoken.take()  # torch's words
                outcome = worker.load(text, op=self.number, deadline=LOAD_LIMIT)
                keep(self.words, LOADED, worker.spoken.take())
            if outcome is not Outcome.RETURNED:
                raise Stopped(self._why(worker, outcome, "", LOAD_LIMIT))
            finding = outcomes.of_status(worker, "")
            if finding:
                raise Stopped(self._named(finding))
        except BaseException:
            worker.end()
            raise
        return worker

    def _launch(self, dtype: str) -> Worker:
        """A worker for the rung's libraries, not yet ready.

        One of both may be a plain build, which every worker can run.
        """
        forward, backward = self.libraries[dtype]
        both = [programs.program_of(library) for library in (forward, backward)]
        usual = next((p for p in both if p != programs.WORKER), both[0])
        program = self.program or usual
        return Worker.for_library(
            forward,
            backward,
            self.number,
            program=program,
            also=programs.runtime_of(program),
            outside=programs.outside_of(program),
        )

    def _why(
        self, worker: Worker, outcome: Outcome, case: str, limit: float
    ) -> Finding:
        """What ended a worker, also where nonsense in its words hides it."""
        try:
            return self._named(self._ended(worker, outcome, case, limit))
        except NONSENSE:
            sentence = "ended the process, and the grader cannot read its report"
            return Finding(Verdict.CRASH, sentence, case)

    def _ended(
        self, worker: Worker, outcome: Outcome, case: str, limit: float
    ) -> Finding:
        """Why a worker did not come back."""
        names = self.names()
        found = None
        if self.on_device:
            found = cusim_report.finding(worker, case, names, self.warnings)
            found = found or sanitizer_report.read(worker, case, names)  # UBSan's
        return found or outcomes.of_outcome(worker, outcome, case, names, limit)

    def header(self) -> bytes:
        """What the Python worker is told of the file: its name and the rules."""
        operator = self.operator
        header: dict[str, Any] = {"path": self.shown, "plain_add": operator.plain_add}
        if self.package:
            header["package"] = str(self.package)
            header["path"] = f"{self.package}/convlab_ext"
            header["forbidden"] = [*operator.forbidden, *COMPUTED_BY_RUNGS]
        else:
            header["forbidden"] = operator.forbidden
            header["allowed"] = sorted(PLUMBING | set(operator.primitives))
        return json.dumps(header).encode()

    def _named(self, finding: Finding) -> Finding:
        """A package's files are told by the names they have in its lab."""
        if not self.package:
            return finding
        before, after = f"{self.package}/", f"{self.shown}/"
        place = finding.location and finding.location.replace(before, after)
        text = finding.message.replace(before, after)
        return replace(finding, message=text, location=place)

    def drop(self, dtype: str) -> None:
        """End the worker, dead or hanging; the next call gets a new one."""
        worker = self._workers.pop("python" if self.python else dtype, None)
        if worker:
            self._spent += worker.cpu_seconds
            worker.end()

    def close(self) -> None:
        """End all workers."""
        for key in list(self._workers):
            self._workers.pop(key).end()
        if self._warm:
            self._warm.end()
            self._warm = None

    # ---- calls -----------------------------------------------------------------------

    def names(self) -> list[str]:
        """The tensors of a call by position: 8 in, 8 out, "" for none."""
        signature = self.operator.signature
        into = [a.name for a in signature.inputs]
        into += [f"grad_{a.name}" for a in signature.outputs]
        out = [a.name for a in (*signature.outputs, *signature.saved)]
        out += [f"grad_{name}" for name in signature.gradients]
        return [*into, *[""] * (8 - len(into)), *out, *[""] * (8 - len(out))]

    def call(
        self,
        run: int,
        case: Case,
        inputs: Tensors,
        outputs: Sequence[Output | None],
        grad_outputs: Sequence[torch.Tensor] = (),
        *,
        freeze: bool = True,
        deadline: float = 2.0,
    ) -> Call:
        """Prepare a case. `outputs`: results, saved tensors, gradients, by position."""
        signature = self.operator.signature
        given = [inputs.get(a.name) for a in signature.inputs]
        return Call(
            self.number,
            run,
            [*given, *grad_outputs],
            outputs,
            options=signature.pack(case.options),
            placement=Placement.ALIGN if case.aligned else Placement.RIGHT,
            freeze=freeze,
            deadline=deadline,
        )

    def run(self, call: Call, case: Case, dtype: str) -> Finding | None:
        """Run a case. None if it came back with a result, else what happened.

        Raises Stopped if nothing more can be learnt: the worker died or hangs, or there
        is no code yet.
        """
        worker = self.worker(dtype)
        left = self._end - time.monotonic()
        if left <= 0:
            raise Stopped(self._out_of_time(case))
        limit = min(call.limit, left)
        call.request.deadline_ns = int(limit * wire.SECOND)
        worker.spoken.take()
        outcome = worker.run(call)
        keep(self.words, case.name, worker.spoken.take())
        if outcome is not Outcome.RETURNED:
            ended = self._why(worker, outcome, case.name, limit)
            # it may be an endless loop if it has had most of the check's time
            few = limit < min(call.limit, self._seconds / 2)
            if outcome is Outcome.TIMEOUT and few:
                ended = self._out_of_time(case, limit)
            self.drop(dtype)
            raise Stopped(ended)
        self.left = self._left(worker, call)
        finding = self._returned(worker, case.name)
        if self.left and not finding:
            finding = self._leaves(call, case)
        if finding and outcomes.is_lost(worker):
            self.drop(dtype)
            raise Stopped(finding)
        if finding and finding.verdict in (Verdict.NOT_IMPLEMENTED, Verdict.FORBIDDEN):
            raise Stopped(finding)
        if finding and worker.reply.status == wire.STATUS_CUDA_ERROR:
            self.drop(dtype)  # after a kernel failed, every later call says so
        if not finding and call.request.late:
            self.drop(dtype)
            raise Stopped(
                Finding(
                    Verdict.INCOMPLETE,
                    "wrote to its output after it had returned: does a thread run?",
                    case.name,
                )
            )
        return finding

    def _left(self, worker: Worker, call: Call) -> frozenset[int]:
        """The outputs that a call left to others, by position."""
        made = [k for k, tensor in enumerate(call.tensors) if tensor is not None]
        if self.python:
            return frozenset()
        if worker.reply.status == wire.STATUS_UNSUPPORTED:
            return frozenset(made)
        signature = self.operator.signature
        first = len(signature.outputs) + len(signature.saved)
        bits = worker.reply.left
        return frozenset(k for k in made if k >= first and bits >> (k - first) & 1)

    def _leaves(self, call: Call, case: Case) -> Finding | None:
        """What is wrong with what the last call left; None if it may be left."""
        names = self.names()[wire.SIDE_TENSORS :]
        listed = " and ".join(f"'{names[k]}'" for k in sorted(self.left))
        if not self.covers:
            text = f"leaves {listed} to other files (ctx->left). {WHOLE}"
            return Finding(Verdict.WRONG_GRADIENT, text, case.name)
        for k in () if call.request.run & Run.TIMED else sorted(self.left):
            tensor = call.tensors[k]
            assert tensor is not None
            side = call.request.side[wire.SIDE_TENSORS + k]
            written = tensor.numel() - side.unwritten
            if written:
                text = (
                    f"leaves {listed} to other files, but wrote {written} of "
                    f"{tensor.numel()} elements of '{names[k]}'. Decide before you "
                    "write: a file must not write to a result that it leaves"
                )
                return Finding(Verdict.INCOMPLETE, text, case.name)
        return None

    def _out_of_time(self, case: Case, ran: float = 0.0) -> Finding:
        """The calls of a check have had their time together, the last one a part of
        what it may have alone: no word of an endless loop.
        """
        stopped = f", so this call was stopped after {ran:.1f} s" if ran else ""
        sentence = (
            f"all calls of this check together may take {self._seconds:.0f} s. This "
            f"time is over{stopped}. The file is too slow for the number of cases, or "
            "the machine is busy. Make the innermost loop do less, or wait for an "
            "idle machine"
        )
        return Finding(Verdict.TIMEOUT, sentence, case.name)

    def _returned(self, worker: Worker, case: str) -> Finding | None:
        """What is wrong with a call that came back; None if nothing is."""
        found = None
        if self.on_device:
            with contextlib.suppress(*NONSENSE):
                found = cusim_report.finding(worker, case, self.names(), self.warnings)
        unsupported = worker.reply.status == wire.STATUS_UNSUPPORTED
        if not found and not (unsupported and self.covers):
            found = outcomes.of_status(worker, case)
        return found and self._named(found)

    def gradient_bits(self) -> int:
        """What a gradient call runs: backward alone where nothing is saved for it."""
        if self.python or (self.operator.signature.saved and self.saves):
            return Run.FORWARD | Run.BACKWARD
        return Run.BACKWARD
