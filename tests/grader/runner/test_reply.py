# SPDX-License-Identifier: MIT
"""The reply page lies where a student's code can write: whatever stands there, each
reader turns it into a finding or into nothing, and raises no exception.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.checks import outcomes
from grader.checks.check_result import Finding
from grader.checks.cuda import cusim_report
from grader.checks.memory import access, sanitizer_report, team_races
from grader.course.foreign import clean
from grader.runner.supervisor import wire
from grader.runner.supervisor.session import Death, Outcome
from grader.verdicts import Verdict

NAMES = ["input", "other", "", "output"]
PROGRAMS = ("worker", "worker-asan", "worker-cuda-run", "")  # "": the Python worker
WORDS = (b"race", b"1", b"0x1f", b"-5", b"7fff00000000", b"\n", b"\xff", b"z", b"\0")
TEXT = st.lists(st.sampled_from(WORDS) | st.binary(max_size=6), max_size=24)
NUMBER = st.integers(-(2**31), 2**31 - 1) | st.integers(-2, 40)
PLACE = st.integers(0, 2**64 - 1)


@pytest.fixture(autouse=True)
def addresses_without_lines(monkeypatch):
    """addr2line takes too long for so many: its arguments must be numbers."""

    def places(_: Path, offsets: list[int]) -> list[sanitizer_report.Place]:
        assert all(isinstance(at, int) for at in offsets)
        return []

    monkeypatch.setattr(sanitizer_report, "places", places)


@st.composite
def replies(draw: st.DrawFn) -> wire.Reply:
    """A page with numbers and texts that no worker wrote."""
    reply = wire.Reply()
    for name, kind in wire.Reply._fields_:
        if kind is ctypes.c_int32:
            setattr(reply, name, draw(NUMBER))
        elif kind is ctypes.c_uint64:
            setattr(reply, name, draw(PLACE))
    for name in ("frame", "in_base", "out_base"):
        getattr(reply, name)[:] = [draw(PLACE)] * len(getattr(reply, name))
    for name in ("message", "notes", "report"):
        written = draw(st.sampled_from([b" ", b"\n", b""])).join(draw(TEXT))
        ctypes.memmove(ctypes.addressof(reply) + offset(name), written, len(written))
    return reply


def offset(name: str) -> int:
    return int(getattr(wire.Reply, name).offset)


def worker(reply: wire.Reply, program: str, number: int) -> SimpleNamespace:
    """What the readers ask of a worker that died of signal `number`."""
    return SimpleNamespace(
        reply=reply,
        program=program,
        kind="c" if program else "python",
        command=wire.Command(),
        death=Death(number),
        output=b"",
        started=True,
        memory_ran_out=False,
        libraries=(Path(__file__), Path(__file__)),
        faulted=reply.phase == wire.PHASE_FAULT,
        message=clean(bytes(reply.message)),
        notes=clean(bytes(reply.notes)),
    )


@settings(max_examples=2000, deadline=None, derandomize=True)
@given(replies(), st.sampled_from(PROGRAMS), st.integers(1, 31))
def test_no_reply_makes_the_grader_fail(reply, program, number):
    them = worker(reply, program, number)
    subject = SimpleNamespace(worker=lambda _: them, names=lambda: NAMES)
    found = [
        outcomes.of_status(them, "small"),
        outcomes.of_outcome(them, Outcome.DIED, "small", NAMES, 1.0),
        team_races.read(them, "small", NAMES),
        cusim_report.finding(them, "small", NAMES),
        sanitizer_report.read(them, "small", NAMES),
    ]
    assert all(f is None or not f.verdict.pending for f in found)
    call = SimpleNamespace(request=wire.Request())
    wrong = Finding(Verdict.WRONG_VALUE, "'output'[0] is nan", "small")
    case = SimpleNamespace(name="small")
    noted = access._noted(subject, call, 0, case, wrong, failed=True)
    assert noted.verdict is Verdict.MEMORY_ERROR
