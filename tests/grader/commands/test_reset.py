# SPDX-License-Identifier: MIT
"""`make reset` asks first; test_handed.py puts a file back in an unpacked handout."""

from __future__ import annotations

import builtins
import sys

import pytest

from grader.commands import reset


@pytest.mark.parametrize(
    ("answer", "agreed"), [("y", True), ("", False), (None, False)]
)
def test_only_yes_is_a_yes_and_the_end_of_input_is_a_no(
    monkeypatch: pytest.MonkeyPatch, answer: str | None, agreed: bool
) -> None:
    def said(question: str) -> str:
        if answer is None:
            raise EOFError
        return answer

    monkeypatch.delenv("YES", raising=False)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(builtins, "input", said)
    assert reset._agreed("Put back 1 file? ") is agreed
