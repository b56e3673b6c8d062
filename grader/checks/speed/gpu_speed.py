# SPDX-License-Identifier: MIT
"""Times a rung on a GPU, against PyTorch on the same card and in the same rounds.

A round is one call of each side, in random order, on fresh inputs. CUDA events time one
call. Before it the device is idle, and the L2 cache holds other data. The student's
events are read in a process that runs student code, so they could be wrong. `audit`
compares them with the grader's own clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

import torch

from grader.checks.check_result import Finding, Stopped
from grader.checks.speed import baseline, speed, timing
from grader.checks.speed.estimate import Speed
from grader.checks.speed.speed import Student
from grader.checks.speed.timed_values import Watch, Wrong
from grader.checks.subject import Subject
from grader.course.bands import Band, Cost
from grader.course.rungs import TF32
from grader.errors import GraderError
from grader.operators import Case, Operator
from grader.operators.cost import cost
from grader.runner.supervisor.call import REPEAT_SHIFT
from grader.toolchain.gpu_probe import Gpu as Card
from grader.verdicts import Verdict

BUDGET = 4.0  # seconds a direction
LONGEST = 3 * BUDGET  # for the fewest rounds, however small a budget is
FLUSHED = 4  # the L2 cache so many times over, as the worker does
HELD = 1_000_000  # ticks of the card's clock, some 500 us: PyTorch launches for 200
MOST_HELD = 8 * HELD
AUDITED = 0.2  # seconds of calls in a row that the audit looks at
MOST_REPEATS = 4000
AUDITS = 3  # and the shortest of them counts
ATTEMPTS = 3  # others may have been busy
HIDDEN = 0.25  # of the outside time that events need not explain
LAUNCH = 25e-6  # seconds: starting a call and reading a clock
PYTORCH, STUDENT = "pytorch", "student"  # sides of a measurement
CUDA = "CUDA"  # what PyTorch runs where no library of NVIDIA's does


class EventClock:
    """CUDA events on PyTorch's current stream. Raises GraderError where PyTorch finds
    no card.
    """

    def __init__(self, card: Card) -> None:
        if not torch.cuda.is_available():
            raise GraderError(
                f"there is a GPU here ({card.name}), but PyTorch {torch.__version__} "
                "does not find it. Times need a PyTorch that was built for CUDA, and "
                "a driver that is new enough for it"
            )
        self.device = torch.device("cuda")
        bytes_ = max(1 << 20, FLUSHED * card.l2)
        self._buffer = torch.empty(bytes_, dtype=torch.int8, device=self.device)
        self._start = torch.cuda.Event(enable_timing=True)
        self._stop = torch.cuda.Event(enable_timing=True)
        self._held = HELD

    def time(self, work: Callable[[], object]) -> float:
        """Seconds of one call, from a cold cache. The queue is filled while the card is
        held, as in the worker. If that was too short, the next call is held twice as
        long.
        """
        torch.cuda.synchronize()
        torch.cuda._sleep(self._held)
        self._buffer.zero_()
        seconds, waited = self._between(work)
        if waited:
            self._held = min(2 * self._held, MOST_HELD)
        return seconds

    def flush(self) -> float:
        """Seconds that making the cache cold takes by itself, the shortest of a few."""
        return min(self._between(self._buffer.zero_)[0] for _ in range(9))

    def _between(self, work: Callable[[], object]) -> tuple[float, bool]:
        """Seconds, and whether the card was there before all of it was launched."""
        self._start.record()
        work()
        self._stop.record()
        waited = bool(self._start.query())
        torch.cuda.synchronize()
        return 1e-3 * float(self._start.elapsed_time(self._stop)), waited


@contextmanager
def precision(*, tf32: bool) -> Iterator[None]:
    """Products and convolutions of f32 in full, or with operands rounded to TF32; and
    cuDNN tries its algorithms instead of guessing.

    By the older names: PyTorch keeps two records of this, which they change together.
    The newer fp32_precision leaves the other one, and then PyTorch may refuse to say.
    """
    places: list[Any] = [torch.backends.cuda.matmul, torch.backends.cudnn]
    with ExitStack() as stack:
        for place in places:
            stack.callback(setattr, place, "allow_tf32", place.allow_tf32)
            place.allow_tf32 = tf32
        was = torch.backends.cudnn.benchmark
        stack.callback(setattr, torch.backends.cudnn, "benchmark", was)
        torch.backends.cudnn.benchmark = True
        yield


class PyTorch(baseline.PyTorch):
    """PyTorch's operator on the card, one call a sample."""

    def __init__(
        self,
        operator: Operator,
        case: Case,
        direction: str,
        data: baseline.Data,
        clock: EventClock,
        *,
        tf32: bool = False,
    ) -> None:
        super().__init__(operator, case, direction, data, 1)
        self._clock, self._tf32 = clock, tf32
        moved = []
        for inputs, grads in self._mine:
            held = {n: t.detach().to(clock.device) for n, t in inputs.items()}
            for name in self.wanted if self.backward else ():
                held[name].requires_grad_()
            moved.append((held, [g.to(clock.device) for g in grads]))
        self._mine = moved

    def prepare(self) -> None:
        """Fresh inputs on the card, and a graph for backward."""
        with precision(tf32=self._tf32):
            super().prepare()

    def sample(self) -> timing.Sample:
        """One call between two events."""

        def work() -> None:
            self.results.append(self._work[0]())

        with torch.set_grad_enabled(self.backward), precision(tf32=self._tf32):
            return timing.Sample(self._clock.time(work))

    def result_of(self, k: int) -> tuple[torch.Tensor, ...]:
        """The last result, in the memory of this processor."""
        return tuple(tensor.detach().cpu() for tensor in super().result_of(k))


class OnCard(Student):
    """A rung on the card, one call a sample. Raises Stopped for an impossible claim."""

    def __init__(
        self, subject: Subject, case: Case, direction: str, data: baseline.Data
    ) -> None:
        super().__init__(subject, case, direction, data, 1)
        self._plain = int(self.call.request.run)

    def sample(self) -> timing.Sample:
        """What its events say of one call."""
        claimed, _ = self.repeated(1)
        return timing.Sample(claimed)

    def repeated(self, times: int) -> tuple[float, float]:
        """So many calls in a row: seconds by events, and by the clock out here."""
        self.call.request.run = self._plain | times << REPEAT_SHIFT
        self.subject.begin()
        finding = self.subject.run(self.call, self.case, "f32")
        if finding:
            raise Stopped(finding)
        reply = self.subject.worker("f32").reply
        claimed, wall = 1e-9 * reply.device_ns, 1e-9 * self.call.request.wall_ns
        if reply.device_calls < times or not 0 < claimed <= wall:
            text = (
                f"CUDA events measured {1e3 * claimed:.3g} ms for {reply.device_calls} "
                f"calls, but the grader's clock measured {1e3 * wall:.3g} ms for "
                f"{times} calls with copies"
            )
            raise Stopped(Finding(Verdict.SUSPECT, text, self.case.name))
        return claimed, wall


def audit(student: OnCard, seconds: float, flush: float) -> str:
    """Compare what events say with the grader's clock, over many calls in a row.

    A long command less a short one has no copies in it: what is left is calls and
    flushes. Returns what cannot be true, also the second and the third time: events
    leave too much out, or single calls (`seconds`, the median) were said to be faster.
    """
    times = max(2, min(MOST_REPEATS, round(AUDITED / (seconds + flush + LAUNCH))))
    problem = ""
    for _ in range(ATTEMPTS):
        short = [student.repeated(1) for _ in range(AUDITS)]
        long = [student.repeated(times) for _ in range(AUDITS)]
        claim, wall = (
            (min(x[i] for x in long) - min(x[i] for x in short)) / (times - 1)
            for i in range(2)
        )
        problem = implausible(claim, wall - flush, seconds)
        if not problem:
            break
    return problem


def implausible(claim: float, outside: float, alone: float) -> str:
    """Why seconds a call cannot all be right: by events in a row of calls, by the
    grader's clock over the same row, and by events alone. "" if they can.
    """
    if outside - claim > HIDDEN * outside + LAUNCH:
        return (
            f"a call takes {1e3 * outside:.3g} ms by the grader's clock, but "
            f"{1e3 * claim:.3g} ms by CUDA events. Does it do work outside of "
            "ctx->stream?"
        )
    if claim - alone > HIDDEN * claim + LAUNCH:
        return (
            f"by CUDA events a single call takes {1e3 * alone:.3g} ms, but each call "
            f"of a row takes {1e3 * claim:.3g} ms. Was a clock changed?"
        )
    return ""


def library(operator: Operator) -> str:
    """What PyTorch calls for an operator."""
    if operator.name in ("conv2d", "depthwise_conv2d", "subm_conv3d"):
        return "cuDNN"
    return "cuBLAS" if operator.name in ("matmul", "linear", "lltm") else CUDA


def title(operator: Operator, direction: str, *, tf32: bool = False) -> str:
    """What exactly PyTorch runs."""
    saved = direction == "backward" and operator.signature.saved
    both = f" {baseline.BOTH}" if saved else ""
    called = library(operator)
    pinned = f" tf32={'on' if tf32 else 'off'}" if called != CUDA else ""
    return f"pytorch/{called}{pinned}{both}"


def in_tf32(subject: Subject) -> bool:
    """Whether the file computes in TF32. PyTorch may do the same then."""
    return subject.numerics == TF32 and library(subject.operator) != CUDA


def check(
    subject: Subject,
    case: Case,
    direction: str,
    band: Band | None,
    seed: int,
    card: Card,
    clock: EventClock,
    *,
    tries: int = speed.TRIES,
    budget: float = BUDGET,
    with_tf32: bool = False,
) -> Speed:
    """Time a direction of a rung that is right. Never raises for the rung's faults."""
    once = baseline.Data(subject.operator, case, 1, seed)
    inputs, _ = once.of_call(0)
    need = cost(subject.operator, case, inputs, once.outputs, direction=direction)
    tf32 = in_tf32(subject)
    name = title(subject.operator, direction, tf32=tf32)
    empty = Speed(case.name, direction, Verdict.NOISY, name, band=band)
    against = TF32 if tf32 else PYTORCH
    many: dict[str, Any] = {"tries": tries, "with_tf32": with_tf32, "seed": seed}
    many["budget"] = budget
    try:
        return _measured(subject, case, once, need, card, clock, empty, against, **many)
    except (Wrong, Stopped) as end:
        return speed.failed(empty, end)


def _measured(
    subject: Subject,
    case: Case,
    data: baseline.Data,
    need: Cost,
    card: Card,
    clock: EventClock,
    empty: Speed,
    against: str,
    *,
    tries: int,
    budget: float,
    with_tf32: bool,
    seed: int,
) -> Speed:
    student = OnCard(subject, case, empty.direction, data)
    words = subject.operator, case, empty.direction, data, clock
    pytorch = PyTorch(*words)
    sides: dict[str, timing.Side] = {PYTORCH: pytorch, STUDENT: student}
    if with_tf32 or against == TF32:
        sides[TF32] = PyTorch(*words, tf32=True)
    watch = Watch(student, pytorch, empty.direction)
    rounds, passed = timing.settle(
        sides,
        (against, STUDENT),
        seed=seed,
        budget=budget,
        longest=LONGEST,
        tries=tries,
        before=data.renew,
        after=watch,
    )
    seconds = rounds.median(STUDENT)
    if problem := audit(student, seconds, clock.flush()):
        raise Stopped(Finding(Verdict.SUSPECT, problem, case.name))
    ratio = rounds.ratio(against, STUDENT)
    return replace(
        empty.timed(seconds, need, card.fma),
        verdict=Verdict.PASS if passed else Verdict.NOISY,
        message=""
        if passed
        else "the times on the GPU differ too much; run the grading again",
        ratio=ratio,
        share=ratio,
        rounds=rounds.count,
        dropped=rounds.dropped,
        worst=watch.worst,
        others={TF32: rounds.ratio(TF32, STUDENT)} if TF32 in sides else {},
        errors=watch.errors,
    )


def screen(subject: Subject, case: Case, direction: str, seed: int) -> float:
    """Seconds of a call, the best of a few: to choose among several files."""
    data = baseline.Data(subject.operator, case, 1, seed)
    return speed.best_of_a_few(OnCard(subject, case, direction, data))
