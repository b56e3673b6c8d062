# SPDX-License-Identifier: MIT
"""Whose time the seconds of a check are."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from grader.checks import subject
from grader.checks.check_result import Stopped
from grader.checks.subject import CHECK_LIMIT, Subject
from grader.operators import get
from grader.runner.supervisor.session import Outcome, Worker
from tests import put


class SlowToStart:
    """A Python worker on a busy machine: it takes longer to start than a check has."""

    def __init__(self, clock: list[float]) -> None:
        self.clock, self.message, self.started = clock, "", True
        self.state, self.cpu_seconds = "R", 0.0
        self.reply = SimpleNamespace(status=0, phase=0)
        self.spoken = SimpleNamespace(take=lambda: (b"", 0))

    def wait_ready(self) -> Outcome:
        self.clock[0] += CHECK_LIMIT + 10
        return Outcome.RETURNED

    def load(self, text: bytes, *, op: int, deadline: float) -> Outcome:
        return Outcome.RETURNED

    def run(self, call: SimpleNamespace) -> Outcome:
        self.clock[0] += CHECK_LIMIT - 1
        return Outcome.RETURNED

    def end(self) -> None:
        pass


class Endless(SlowToStart):
    """The second call never returns."""

    def wait_ready(self) -> Outcome:
        return Outcome.RETURNED

    def run(self, call: SimpleNamespace) -> Outcome:
        if self.clock[0] > 1000:
            return Outcome.TIMEOUT
        return super().run(call)


@pytest.mark.parametrize(
    ("limit", "says"),
    [
        (0.5, "did not return within 0.5 s; it was still computing: a loop"),
        (2.0, "time is over, so this call was stopped after 1.0 s. The file is"),
    ],
)
def test_a_call_that_the_checks_time_has_stopped_is_no_endless_loop(
    monkeypatch, tmp_path, limit, says
):
    clock = [1000.0]
    monkeypatch.setattr(subject.time, "monotonic", lambda: clock[0])
    call: Any = SimpleNamespace(
        limit=limit, request=SimpleNamespace(late=0), tensors=[]
    )
    source = put(tmp_path / "x.py", "")
    warm = cast(Worker, Endless(clock))
    one = Subject(get("gelu"), source=source, warm=warm)
    case = get("gelu").cases(7)[0]
    one.run(call, case, "f32")
    with pytest.raises(Stopped, match=says):
        one.run(call, case, "f32")


def test_what_a_worker_takes_to_start_is_not_the_students_time(monkeypatch, tmp_path):
    clock = [1000.0]
    monkeypatch.setattr(subject.time, "monotonic", lambda: clock[0])
    request = SimpleNamespace(deadline_ns=0, late=0)
    call: Any = SimpleNamespace(limit=2.0, request=request, tensors=[])
    one = Subject(
        get("gelu"),
        source=put(tmp_path / "x.py", ""),
        warm=cast(Worker, SlowToStart(clock)),
    )
    case = get("gelu").cases(7)[0]
    assert one.run(call, case, "f32") is None  # it has its 90 seconds
    one.run(call, case, "f32")
    with pytest.raises(Stopped, match="This time is over"):
        one.run(call, case, "f32")
