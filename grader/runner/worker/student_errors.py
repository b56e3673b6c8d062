# SPDX-License-Identifier: MIT
"""Turns an error of a student's Python code into a status and a sentence."""

from __future__ import annotations

import traceback
from collections.abc import Callable

from grader.runner.supervisor import wire
from grader.runner.supervisor.wire import Reply
from grader.runner.worker.line_values import sizes_in_line, words_of
from grader.runner.worker.student_memory import ContractError
from grader.runner.worker.student_rules import Forbidden, Rules, quoted, shown
from grader.runner.worker.torch_calls import order_of

HANDING_ON = ("/_rules.py", "/_autograd.py", "/_autocast.py")  # given in lab 05
LONGEST = 400  # characters of what an exception says


def line_behind(error: BaseException, path: str) -> traceback.FrameSummary | None:
    """The student's line that an exception went through last; None if it did not.

    Not one of lab 05's files that only hand calls on, unless it was raised there.
    """
    frames = traceback.extract_tb(error.__traceback__)
    ours = [
        f for f in frames if f.filename == path or f.filename.startswith(f"{path}/")
    ]
    if not ours or ours[-1] is frames[-1]:
        return ours[-1] if ours else None
    written = [f for f in ours if not f.filename.endswith(HANDING_ON)]
    return (written or ours)[-1]


def sentence_of(error: BaseException, path: str) -> str:
    """One line about an exception: its words, what was noted at it (where nothing was,
    the order of arguments of the call in the student's line), and that line.
    """
    first = words_of(error).strip().split("\n")[0]
    text = quoted(first, LONGEST) or "no message"
    frame = line_behind(error, path)
    noted = getattr(error, "__notes__", [])  # a class may name anything so
    notes = [one for one in noted if type(one) is str] if type(noted) is list else []
    if not notes and frame and (order := order_of(frame.line)):
        notes = [order]
    where = shown(frame) if frame else ""
    if frame and frame.lineno:
        where = sizes_in_line(error, frame.filename, frame.lineno) + where
    if isinstance(error, SyntaxError) and error.lineno:
        name = error.filename or path
        where = f" ({name}:{error.lineno}: {quoted(error.text)})"
        text = error.msg
    text = "; ".join([text.rstrip(".") if notes else text, *notes])
    return f"{type(error).__name__}: {text}{where}"


def status_of(error: BaseException) -> int:
    """The status that a student's exception stands for."""
    if isinstance(error, NotImplementedError) or "not written yet" in words_of(error):
        return wire.STATUS_NOT_IMPLEMENTED
    if isinstance(error, ContractError):
        return wire.REPLY_CONTRACT
    if isinstance(error, Forbidden):
        return wire.REPLY_FORBIDDEN
    if isinstance(error, SystemExit):
        return wire.REPLY_EXIT
    words = ("can't allocate memory", "not enough memory", "can't start new thread")
    if isinstance(error, MemoryError) or any(word in words_of(error) for word in words):
        return wire.STATUS_NO_MEMORY
    return wire.REPLY_EXCEPTION


def fitting(text: str, size: int) -> bytes:
    """The text in at most so many bytes, whole words of it."""
    text = text.encode(errors="replace").decode()  # half of a pair of surrogates
    most = len(text)
    while len(text.encode()) > size:
        most -= 16
        text = quoted(text, most)
    return text.encode()


def attempt(
    reply: Reply, path: str, run: Callable[[], None], rules: Rules | None
) -> int:
    """Run student code; whatever it raises becomes a status and a sentence."""
    status = wire.STATUS_OK
    reply.message = b""
    try:
        run()
    except BaseException as error:
        status = status_of(error)
        explained = status in (wire.REPLY_CONTRACT, wire.REPLY_FORBIDDEN)
        text = words_of(error) if explained else sentence_of(error, path)
        reply.message = fitting(text, wire.MESSAGE_BYTES - 1)
    if rules and rules.caught:
        reply.message = fitting(rules.caught[0], wire.MESSAGE_BYTES - 1)
        status = wire.REPLY_FORBIDDEN
    return status
