# SPDX-License-Identifier: MIT
"""A request that is not wanted any more ends early, and breaks nothing."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from grader.checks.check_result import CheckResult
from grader.course.tasks import select
from grader.engine.grading_step import GradingStep
from grader.verdicts import Verdict
from grader.watch import client as client_module
from grader.watch.client import Client
from grader.watch.messages import Abandoned, Heard, Ready, Unwanted
from grader.watch.service import Abandon, Service, _Checker

TELLS = """import os, signal
before = 1
os.kill(os.getpid(), signal.SIGUSR1)
after = 2
"""


@pytest.fixture
def service() -> Iterator[tuple[Service, Connection]]:
    mine, theirs = Pipe()
    made = Service(theirs)
    before = signal.signal(signal.SIGUSR1, made._abandon)
    made.number, made.running = 7, True
    yield made, mine
    signal.signal(signal.SIGUSR1, before)


def test_an_import_is_not_interrupted_and_the_request_ends_after_it(
    service: tuple[Service, Connection],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, mine = service
    (tmp_path / "tells_while_imported.py").write_text(TELLS)
    monkeypatch.syspath_prepend(str(tmp_path))
    mine.send(Unwanted(7))
    import tells_while_imported  # type: ignore[import-not-found]

    assert tells_while_imported.after == 2
    with pytest.raises(Abandon):
        made._progress(GradingStep("a", "b", 0, 1))
    assert not made.running
    del sys.modules["tells_while_imported"]


def test_outside_of_an_import_it_ends_at_once(
    service: tuple[Service, Connection],
) -> None:
    with pytest.raises(Abandon):
        os.kill(os.getpid(), signal.SIGUSR1)
    os.kill(os.getpid(), signal.SIGUSR1)  # nothing runs: nothing ends


def test_a_word_about_a_request_that_has_ended_is_not_for_the_next(
    service: tuple[Service, Connection],
) -> None:
    made, mine = service
    mine.send(Unwanted(6))
    made._if_wanted()
    assert made.running


def test_a_process_that_still_imports_pytorch_is_not_ended_by_a_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(client_module, "OBEYS", 0.0)
    with Client() as client:
        first = client.process.pid
        client.ask("no/such/task")
        client.ask("02_naive_c/gelu")  # at once: the first is not wanted
        assert not client.late()
        assert isinstance(client.receive(), Ready)
        said = client.receive()
        assert said == Abandoned(1) and client.process.pid == first
        client.ended(said)
        message = client.receive()
        assert message is not None and message.number == 2


def test_what_an_exhibit_is_asked_is_not_told_before_its_case_is_judged(
    service: tuple[Service, Connection],
) -> None:
    made, mine = service
    _Checker.service = made
    own = CheckResult("own", "forward", Verdict.PASS)
    with _Checker(select("02_naive_c"), seed=1) as checker:
        for name in ("02_naive_c/bug_hunt/00", "02_naive_c/gelu/00"):
            chosen = select(name)
            (rung,) = (r for t in chosen.tasks for r in t.rungs if r.id in chosen.rungs)
            checker.on_results(rung, [own])
    assert mine.recv() == Heard(7, "", (own,)) and not mine.poll()
