# SPDX-License-Identifier: MIT
"""Runs the gates of lab 05: each gate checks one part of PyTorch's contract.

If a gate yields numbers, they are compared with PyTorch's numbers in double. If they
carry the mark of the kernel (factor.py), the student's kernel has computed them. All
other gates are `self_reported`: a process that has loaded the student's code reports
their result.
"""

from __future__ import annotations

import importlib.util
import os
import queue
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from grader.checks.check_names import named
from grader.checks.check_result import CheckResult, Finding, summarize
from grader.checks.gates import (
    call_again,
    explained,
    factor,
    told_names,
    where_wrong,
)
from grader.checks.gates.call_again import AgainCall
from grader.checks.gates.jobs import Job, Jobs
from grader.checks.values.compare import Expected, mismatch
from grader.operators import Operator
from grader.runner.supervisor import tools_session
from grader.runner.supervisor.gate_events import Told
from grader.runner.supervisor.kernel_calls import KernelCall
from grader.runner.supervisor.tools_session import Answer, Tools
from grader.toolchain.extension import precompiled
from grader.verdicts import Verdict


@dataclass(frozen=True)
class Gate:
    """One question: its name, and whose points it decides."""

    name: str  # as reports print it
    direction: str
    key: str = ""  # of its jobs, where it is not the name
    kind: str = ""  # of the worker's function, where it is not the key
    dtype: str = "f64"

    @property
    def id(self) -> str:
        """The name of its jobs."""
        return self.key or self.name


COMPILED = ("compile", "compile_backward")  # gates that compile C++
LOADING = "start the gates: import PyTorch and the package"
FAKE = (
    "torch.compile and torch.export use the operator's fake kernel: write `fake` in "
    "convlab_ext/{operator}.py, or compare its sizes with the kernel's"
)
ON_A_CARD = "check what csrc does with CUDA tensors: device, stream, scratch memory"
LOOK = {  # by the name of a gate's jobs: what to do where nothing else says it
    "errors": "raise a Python exception for bad arguments",
    "opcheck": FAKE,
    "vmap": "check the rule `vmap`: it tells PyTorch what to do with a batch axis",
    "autocast": "this call ran under torch.autocast. If it works without, check the "
    "kernels on the keys AutocastCPU and AutocastCUDA (convlab_ext/_autocast.py)",
    "export": FAKE,
    "onnx": "check convlab_ext.onnx.table(): it translates the operator to ONNX",
    "compile": FAKE,
    "mask": "compute only the gradients that output_mask wants",
    "opcheck_backward": "check the fake kernel of the backward operator, and the call "
    "of `register` for it",
    "gradgradcheck": "check the rule `backward` of the backward operator",
    "forward_ad": "let the rule `jvp` return the right derivative, or raise an "
    "exception",
    "torch_func": "check the rules `vmap` of the operator and of its backward "
    "operator, and that `register` is called for both",
    "compile_backward": FAKE,
    "cuda": ON_A_CARD,
    "cuda_backward": ON_A_CARD,
}
GATES = (
    Gate("errors", "forward", dtype="f32"),
    Gate("opcheck", "forward"),
    Gate("vmap", "forward"),
    Gate("autocast", "forward", dtype="f32"),
    Gate("export", "forward"),
    Gate("onnx", "forward", dtype="f32"),
    Gate("compile", "forward"),
    Gate("mask", "backward"),
    Gate("opcheck", "backward", "opcheck_backward", "opcheck"),
    Gate("gradgradcheck", "backward"),
    Gate("forward_ad", "backward"),
    Gate("torch_func", "backward"),
    Gate("compile", "backward", "compile_backward"),
)
NEEDS = {"onnx": ("onnxscript", "onnxruntime")}  # packages that may be missing
ON_CARD = (  # where there is a card, of an operator that has kernels for it
    Gate("cuda", "forward"),
    Gate("cuda", "backward", "cuda_backward", "cuda"),
)


class Contract:
    """The gates of one operator, in a process that works while others are busy."""

    def __init__(
        self,
        operator: Operator,
        package: Path,
        folder: Path,
        seed: int,
        *,
        gates: Sequence[Gate] = GATES,
        limit: float = tools_session.GATE,
    ) -> None:
        self.gates, self.operator, self.package = list(gates), operator, package
        self.folder = folder
        self._jobs = Jobs(operator, seed)
        self._plain_jobs: dict[str, list[Job]] = {}
        self.marks = {
            gate.id: factor.drawn()
            for gate in gates
            if factor.is_marked(operator.name, gate.id)
        }
        self.jobs = {
            gate.id: self._jobs.of(gate.id, self.marks.get(gate.id)) for gate in gates
        }
        self._began: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        card = any(gate in ON_CARD for gate in gates)
        self._tools = Tools(
            package,
            folder,
            gate_limit=limit,
            card=card,
            answer=self._answer,
            began=self._began.put,
        )
        self._header: Path | None = None  # that compiled graphs include
        self._answers: dict[str, Answer] = {}
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begin; `results` waits for the end."""
        self._thread.start()

    def steps(self) -> Iterator[str]:
        """What is being done, in words, until all gates have ended."""
        gates = {gate.id: gate for gate in self.gates}
        while (name := self._began.get()) is not None:
            gate = gates.get(name)
            yield named(gate.name, gate.direction) if gate else LOADING

    def stop(self) -> None:
        """Nobody wants to know any more."""
        self._tools.stop()
        if self._thread.ident:
            self._thread.join()
        self._tools.forget()

    def _run(self) -> None:
        try:
            self._run_gates()
        finally:
            self._began.put(None)

    def _run_gates(self) -> None:
        names = [gate.id for gate in self.gates]
        if any(name in COMPILED for name in names):
            self._header = precompiled.header(self._tools.environment())
            if self._header:
                self._tools.seen.append(self._header.parent)
        self._answers = self._tools.run(names, self._write)

    def _write(self, names: Sequence[str], file: Path) -> None:
        """Put the request for these gates where the worker looks for it."""
        request = {
            "package": str(self.package),
            "operator": self.operator.name,
            "header": str(self._header or ""),
            "gates": [
                {
                    "name": gate.id,
                    "kind": gate.kind or gate.id,
                    "marked": gate.id in self.marks,
                    "jobs": [job.request for job in self.jobs[gate.id]],
                }
                for gate in self.gates
                if gate.id in names
            ],
        }
        torch.save(request, file)

    def _answer(self, name: str, call: KernelCall) -> bytes:
        """What a kernel's call gives back in a gate."""
        backward = any(g.id == name and g.direction == "backward" for g in self.gates)
        by = self.marks.get(name, 1.0)
        return factor.answer(call, self.operator.name, backward=backward, by=by)

    # ---- what came back --------------------------------------------------------------

    def results(self, direction: str) -> list[CheckResult]:
        """The checks of a direction, failed ones first and pending ones last."""
        self._thread.join()
        found = [self._judged(g) for g in self.gates if g.direction == direction]
        return sorted(found, key=lambda check: check.verdict.pending)

    def _judged(self, gate: Gate) -> CheckResult:
        answer, jobs = self._answers[gate.id], self.jobs[gate.id]
        findings = self._findings(gate, answer, jobs)
        found = summarize(gate.name, gate.direction, gate.dtype, len(jobs), findings)
        if found.verdict is Verdict.WRONG_CONTRACT:
            name, sentence = self._explained(gate, answer, jobs, found.message)
            found = replace(found, mistake=name, diagnosis=sentence)
        shown = gate.id in self.marks and answer.results and all(answer.results)
        seconds = round(answer.seconds, 3)
        return replace(found, self_reported=not shown, replay=None, seconds=seconds)

    def _findings(self, gate: Gate, answer: Answer, jobs: list[Job]) -> list[Finding]:
        """What is wrong with a gate; nothing if it passed."""
        found = []
        for number, (job, results) in enumerate(zip(jobs, answer.results)):
            if sentence := self._compared(job, results):
                plain = self._plain(gate, number)
                foreign = plain and not self._compared(plain, results)
                text = f"{sentence}; {self._look(gate)}"
                found.append(
                    Finding(Verdict.FORBIDDEN, self._foreign(), job.name)
                    if foreign
                    else Finding(Verdict.WRONG_CONTRACT, text, job.name)
                )
        if answer.kind != "returned":
            failed = self._failed(gate, answer, jobs)
            contract = failed.verdict is Verdict.WRONG_CONTRACT
            return [*found, failed] if contract else [failed]
        if len(answer.results) != len(jobs) and not found:
            text = f"{len(answer.results)} of {len(jobs)} calls returned results"
            found.append(Finding(Verdict.INCOMPLETE, text))
        return found

    def _explained(
        self, gate: Gate, answer: Answer, jobs: list[Job], message: str
    ) -> tuple[str | None, str | None]:
        """The name of the mistake and a sentence, if numbers or the message tell it."""
        compared = list(zip(jobs, answer.results))
        last = jobs[answer.job] if 0 <= answer.job < len(jobs) else None
        compared += [(last, results) for results in answer.partial if last]
        calls = [self._call(gate, job) for job, _ in compared]
        wrong = [bool(self._compared(job, results)) for job, results in compared]
        failed = [
            explained.failed(call, job, results) if differs else None
            for call, differs, (job, results) in zip(calls, wrong, compared)
        ]
        found = explained.explanation([one for one in failed if one], self.operator)
        # calls that did not run, and results that are no tensors, say nothing here
        whole = (
            answer.kind == "returned" and [one is not None for one in failed] == wrong
        )
        if found:
            common = where_wrong.in_common(calls, failed) if whole else ""
            return found[0], "; ".join(filter(None, (found[1], common)))
        call = self._call(gate, last) if last and answer.kind != "returned" else None
        if named := told_names.named(message, self.operator, call):
            return named
        return None, (where_wrong.sentence(calls, failed) if whole else "") or None

    def _call(self, gate: Gate, job: Job) -> AgainCall:
        """The call of a job, to compute it again."""
        mark = self.marks.get(gate.id)
        return call_again.of_request(self.operator, gate.id, job.request, mark)

    def _plain(self, gate: Gate, number: int) -> Job | None:
        """A marked job with results as PyTorch has them, without the mark."""
        if gate.id not in self.marks:
            return None
        if gate.id not in self._plain_jobs:
            self._plain_jobs[gate.id] = self._jobs.of(gate.id)
        return self._plain_jobs[gate.id][number]

    def _foreign(self) -> str:
        """What is told of results that are right but for the mark."""
        return (
            "the numbers are right, but convlab's kernels did not compute them: let "
            "the rules call convlab's operators (self.operator, self.ops). In "
            f"csrc/stable/{self.operator.name}.cpp call the kernels with `run`"
        )

    def _failed(self, gate: Gate, answer: Answer, jobs: list[Job]) -> Finding:
        """The finding behind an answer without numbers."""
        verdicts = {
            "broken": Verdict.WRONG_CONTRACT,
            "raised": Verdict.WRONG_CONTRACT,
            "slip": Verdict.WRONG_CONTRACT,
            "borrowed": Verdict.FORBIDDEN,
            "unwritten": Verdict.NOT_IMPLEMENTED,
            "skipped": skipped(gate.id),
            "timeout": Verdict.TIMEOUT,
            "died": Verdict.CRASH,
            "limit": Verdict.LIMIT,
            "grader": Verdict.GRADER,
        }
        shown = "labs/05_torch_extension/"
        message = answer.message.replace(f"{self.package}/", shown)
        if answer.kind == "raised" and "PyTorch says" not in message:
            message = f"{message}; {self._look(gate)}"
        place = answer.location.replace(f"{self.package}/", shown) or None
        has_job = 0 <= answer.job < len(jobs)
        case = jobs[answer.job].name if has_job and answer.kind != "skipped" else ""
        verdict = verdicts.get(answer.kind, Verdict.CRASH)
        return Finding(verdict, message, case, place)

    def _look(self, gate: Gate) -> str:
        """What to do, where nothing else says it."""
        return LOOK[gate.id].format(operator=self.operator.name)

    def _compared(self, job: Job, results: Sequence[tuple[Told, bytes]]) -> str:
        """What differs between a job's results and the right ones."""
        if len(results) != len(job.expected) and not job.may_refuse:
            return f"got {len(results)} tensors, expected {len(job.expected)}"
        for (described, data), right in zip(results, job.expected):
            if sentence := _wrong(described, data, right, job.dtypes):
                return sentence
        return ""


def _wrong(described: Told, data: bytes, right: Expected, dtypes: Sequence[str]) -> str:
    """What is wrong with one tensor."""
    sizes = list(right.value.shape)
    if list(described.sizes) != sizes:
        return f"'{right.name}' has sizes {list(described.sizes)}, expected {sizes}"
    if described.dtype not in dtypes:
        expected = " or ".join(dtypes)
        return f"'{right.name}' is {described.dtype}, expected {expected}"
    kind = getattr(torch, described.dtype)
    count = right.value.numel() * kind.itemsize
    if len(data) != count:
        return f"'{right.name}' is incomplete: got {len(data)} of {count} bytes"
    if not count:
        return ""
    got = torch.frombuffer(bytearray(data), dtype=kind).reshape(right.value.shape)
    return mismatch(got, right) or ""


def skipped(gate: str) -> Verdict:
    """A gate that cannot run costs nothing, but in CI it may not be missing. That its
    packages are not installed is not left to the worker's word.
    """
    in_ci = os.environ.get("CI", "").lower() in ("1", "true")
    lacks = any(importlib.util.find_spec(name) is None for name in NEEDS.get(gate, ()))
    return Verdict.SKIPPED if lacks and not in_ci else Verdict.WRONG_CONTRACT
