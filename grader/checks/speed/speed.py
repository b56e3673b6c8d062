# SPDX-License-Identifier: MIT
"""Times a right rung, against PyTorch and against this machine's own rates.

Only a rung that is right is timed. Every round has fresh inputs, and nothing before the
round shows them. In each round the results are compared with PyTorch's results. In some
rounds they are also compared with the double reference. So a rung must also be right
while it is timed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from grader.checks.check_result import Finding, Stopped
from grader.checks.speed import baseline, machine, timing
from grader.checks.speed.ceiling import implausible
from grader.checks.speed.estimate import Estimate, Speed
from grader.checks.speed.overhead import Overhead
from grader.checks.speed.timed_values import Watch, Wrong
from grader.checks.subject import Subject
from grader.checks.values.forward import output_dtypes
from grader.checks.values.gradient import room_for
from grader.course.bands import Band, Cost
from grader.operators import Case
from grader.operators.cost import cost
from grader.runner.supervisor.call import Call, Output, Placement, Run
from grader.verdicts import Verdict

BUDGET = 1.5  # seconds a direction
TRIES = 3  # before it is called noisy
MOST_CALLS = 8  # in one sample
SCREENING = 3  # calls that choose the fastest of several files
DEADLINE = 10.0  # seconds for a wake; a call takes PyTorch a millisecond
# seconds: after a call PyTorch's threads look for more work, then sleep; meanwhile they
# take the cores of the student's threads (a frozen worker's take nothing of PyTorch's)
UNTIL_ASLEEP = 0.02
ROOM = 48 << 20  # bytes of a slot that copies of a tensor may fill


class Student:
    """A rung as a side: some calls a sample in a worker, the clock outside of it."""

    def __init__(
        self,
        subject: Subject,
        case: Case,
        direction: str,
        data: baseline.Data,
        calls: int,
        overhead: Overhead | None = None,
        threads: int = 1,
    ) -> None:
        self.subject, self.case, self.data, self.calls = subject, case, data, calls
        self.overhead, self.threads = overhead, threads
        operator = subject.operator
        inputs, grads = data.of_call(0)
        kind = torch.float32
        outputs = data.outputs
        if direction == "forward":
            bits: int = Run.FORWARD
            kinds = output_dtypes(subject, kind)
            shapes = [tuple(o.shape) for o in outputs]
            room: list[Output | None] = [Output(s, k) for s, k in zip(shapes, kinds)]
            room += [None] * len(operator.signature.saved)
            grads = []
        else:
            bits = subject.gradient_bits()
            room = room_for(subject, case, inputs, outputs, "f32")
            if direction == baseline.BOTH:
                bits |= Run.FORWARD
                room[: len(outputs)] = [Output(tuple(o.shape), kind) for o in outputs]
        given = [inputs.get(a.name) for a in operator.signature.inputs]
        self.call = Call(
            subject.number,
            bits | Run.TIMED,
            [*given, *grads],
            room,
            options=operator.signature.pack(case.options),
            copies=calls,
            placement=Placement.ALIGN,
            threads=threads,
            deadline=DEADLINE,
        )

    def prepare(self) -> None:
        """Fresh inputs; they and poisoned outputs go to the worker before the bell."""
        signature = self.subject.operator.signature
        for i, argument in enumerate(signature.inputs):
            if argument.name in self.data.inputs:
                self._set(i, self.data.inputs[argument.name])
        first = len(signature.inputs)
        for i, grad in enumerate(self.data.grads):
            if self.call.hosts[first + i] is not None:
                self._set(first + i, grad)
        if self.threads > 1:
            time.sleep(UNTIL_ASLEEP)

    def _set(self, i: int, copies: torch.Tensor) -> None:
        self.call.set_input(i, copies[: self.calls] if self.calls > 1 else copies[0])

    def sample(self) -> timing.Sample:
        """One wake of the worker. Raises Stopped if it does not come back."""
        self.subject.begin()
        finding = self.subject.run(self.call, self.case, "f32")
        if self.subject.left:
            no, text = Verdict.NOT_IMPLEMENTED, "no right file covers this case"
            finding = Finding(no, text, self.case.name)
        if finding:
            raise Stopped(finding)
        request = self.call.request
        wall = request.wall_ns - request.own_ns  # what the supervisor did is not theirs
        if self.overhead:
            wake = int(1e9 * self.overhead.seconds())
            wall -= min(wake, (wall - request.lost_ns) // 2)
        return timing.Sample.of(wall, request.lost_ns, self.calls)

    def result(self, i: int, k: int) -> torch.Tensor:
        """Output `i` of call `k` of the last sample."""
        tensor = self.call.tensors[i]
        assert tensor is not None
        return tensor[k] if self.calls > 1 else tensor


@dataclass(frozen=True)
class _Many:
    """How a measurement is taken."""

    tries: int
    threads: int
    against: tuple[str, ...]


def check(
    subject: Subject,
    case: Case,
    direction: str,
    band: Band | None,
    seed: int,
    peaks: machine.Peaks,
    *,
    tries: int = TRIES,
    threads: int = 1,
    against: Sequence[str] = (),
) -> Speed:
    """Time one direction of a rung that is right. Never raises for the rung's faults.

    A result that is too wide is taken anew, at most `tries` times in all. `direction`
    may be baseline.BOTH; `against` are more variants of PyTorch in the same rounds.
    """
    once = baseline.Data(subject.operator, case, 1, seed)
    inputs, _ = once.of_call(0)
    outputs = once.outputs
    need = cost(subject.operator, case, inputs, outputs, direction=direction)
    title = baseline.name(subject.operator, case, once, direction)
    empty = Speed(case.name, direction, Verdict.NOISY, title, band=band)
    try:
        many = _Many(tries, threads, tuple(against))
        return _measured(subject, empty, case, once, need, seed, peaks, many)
    except (Wrong, Stopped) as end:
        return failed(empty, end)


def failed(empty: Speed, end: Wrong | Stopped) -> Speed:
    """With the verdict of what ended the measurement."""
    if isinstance(end, Stopped):
        verdict, why = end.finding.verdict, end.finding.message
    else:
        forward = empty.direction == "forward"
        verdict = Verdict.WRONG_VALUE if forward else Verdict.WRONG_GRADIENT
        why = f"the results were right in the checks, but wrong when timed: {end}"
    return replace(empty, verdict=verdict, message=f"case {empty.case}: {why}")


def _measured(
    subject: Subject,
    empty: Speed,
    case: Case,
    once: baseline.Data,
    need: Cost,
    seed: int,
    peaks: machine.Peaks,
    many: _Many,
) -> Speed:
    """Rounds of PyTorch, the student, and the rate the band is a share of."""
    direction, band = empty.direction, empty.band
    theirs, mine = _calls(subject, case, direction, once)
    data = baseline.Data(subject.operator, case, max(theirs, mine), seed)
    words = subject.operator, case, direction, data, theirs
    pytorch = baseline.PyTorch(*words)
    student = Student(
        subject, case, direction, data, mine, peaks.overhead, many.threads
    )
    sides: dict[str, timing.Side] = {"pytorch": pytorch, "student": student}
    for variant in many.against:
        sides[variant] = baseline.PyTorch(*words, variant=variant)
    of = band.of if band else "pytorch"
    if of in machine.REPEATS:
        sides[of] = machine.Rate(of)
    wanted = ("pytorch", "student") if of not in sides else (of, "student")
    watch = Watch(student, pytorch, direction)

    rounds, passed = timing.settle(
        sides,
        wanted,
        seed=seed,
        budget=BUDGET,
        tries=many.tries,
        before=data.renew,
        after=watch,
        decided=lambda rounds: _decided(rounds, wanted, band, need),
    )
    has_interval = rounds.count > 1
    found = replace(
        empty,
        verdict=Verdict.PASS if passed else Verdict.NOISY,
        message="" if passed else "the machine was too busy to measure: grade again",
        of=of,
        rounds=rounds.count,
        dropped=rounds.dropped,
        worst=watch.worst,
        errors=watch.errors,
    )
    if not has_interval:
        return found
    seconds = rounds.median("student")
    if text := implausible(seconds, need, peaks, many.threads):
        raise Stopped(Finding(Verdict.SUSPECT, text, case.name))
    return replace(
        found.timed(seconds, need, peaks.fma),
        ratio=rounds.ratio("pytorch", "student"),
        share=_share(rounds, wanted, of, need, peaks),
        others={v: rounds.ratio(v, "student") for v in many.against},
    )


def _share(
    rounds: timing.Rounds,
    wanted: tuple[str, str],
    of: str,
    need: Cost,
    peaks: machine.Peaks,
) -> Estimate:
    """The student's speed, as a share of what points are counted in."""
    share = rounds.ratio(*wanted)
    if of in machine.REPEATS:
        return share.times(need.work)
    if of == "bandwidth":
        rate = need.bytes / rounds.median("student") / peaks.bandwidth[-1][1]
        return share.times(rate / share.value)
    return share


def _decided(
    rounds: timing.Rounds, wanted: tuple[str, str], band: Band | None, need: Cost
) -> bool:
    """Slow or fast rounds earn the same: noise cannot change the points."""
    if band is None or band.of == "bandwidth":
        return False
    scale = need.work if band.of in machine.REPEATS else 1.0
    low, high = (band.earned(scale * r) for r in rounds.spread(*wanted))
    return low == high


def _calls(
    subject: Subject, case: Case, direction: str, once: baseline.Data
) -> tuple[int, int]:
    """Calls in a sample of PyTorch's and of the student's: each near SAMPLE."""
    pytorch = baseline.PyTorch(subject.operator, case, direction, once, 1)
    student = Student(subject, case, direction, once, 1)
    seconds: dict[str, list[float]] = {"pytorch": [], "student": []}
    for _ in range(SCREENING):
        for name, side in (("pytorch", pytorch), ("student", student)):
            side.prepare()
            seconds[name].append(side.sample().seconds)
        if max(seconds["student"]) > BUDGET:
            break  # one call is known to be too long
    tensors = [*once.inputs.values(), *once.grads, *once.outputs]
    largest = max(t.numel() * t.element_size() for t in tensors) + 8192
    fit = max(1, min(MOST_CALLS, ROOM // largest))
    theirs, mine = (
        max(1, min(fit, round(timing.SAMPLE / min(seconds[name]))))
        for name in ("pytorch", "student")
    )
    return theirs, mine


def screen(subject: Subject, case: Case, direction: str, seed: int) -> float:
    """Seconds of a call, the best of a few: to choose among several files."""
    data = baseline.Data(subject.operator, case, 1, seed)
    return best_of_a_few(Student(subject, case, direction, data, 1))


def best_of_a_few(student: Student) -> float:
    """Seconds of a call; infinity if one does not come back."""
    times = []
    try:
        for _ in range(SCREENING):
            student.data.renew()
            student.prepare()
            times.append(student.sample().seconds)
    except Stopped:
        return math.inf
    return min(times)
