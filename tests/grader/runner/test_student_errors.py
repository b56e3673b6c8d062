# SPDX-License-Identifier: MIT
"""A student's exception may be of any class: it always becomes one sentence."""

from __future__ import annotations

import pytest

from grader.runner.supervisor import wire
from grader.runner.worker.student_errors import attempt


class Mute(ValueError):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class NoText(ValueError):
    def __str__(self) -> str:
        return 5  # type: ignore[return-value]


def noted(notes: object) -> ValueError:
    error = ValueError("wrong")
    error.__notes__ = notes  # type: ignore[assignment]
    return error


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (ValueError("wrong"), "ValueError: wrong"),
        (noted(["look here", 5, None]), "ValueError: wrong; look here"),
        (noted(5), "ValueError: wrong"),
        (noted("text"), "ValueError: wrong"),
        (Mute(), "Mute: no message"),
        (NoText(), "NoText: no message"),
        (ValueError("\ud800 word"), "ValueError: ? word"),
    ],
)
def test_an_exception_becomes_a_sentence(error, sentence):
    def run() -> None:
        raise error

    reply = wire.Reply()
    assert attempt(reply, "labs/x.py", run, None) == wire.REPLY_EXCEPTION
    said = reply.message.decode()
    assert said.partition(" (")[0] == sentence
