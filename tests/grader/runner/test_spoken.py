# SPDX-License-Identifier: MIT
"""What a worker writes is read at once, cut, and given to the call that wrote it."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import pytest

from grader.runner.supervisor.spoken import KEPT, NEW, Spoken


@pytest.fixture
def pipe() -> Iterator[tuple[Spoken, int]]:
    read, write = os.pipe()
    spoken = Spoken(read)
    yield spoken, write
    os.close(write)
    spoken.join(5)
    spoken.take()  # its descriptor may be another file's by now


def test_what_was_written_before_is_there(pipe: tuple[Spoken, int]) -> None:
    spoken, write = pipe
    for number in range(300):
        os.write(write, b"%d" % number)
        assert spoken.take() == (b"%d" % number, 0)
    assert spoken.take() == (b"", 0)
    assert spoken.kept.startswith(b"0123456789101112")


def test_of_much_the_beginning_is_kept(pipe: tuple[Spoken, int]) -> None:
    spoken, write = pipe
    for _ in range(10):
        os.write(write, b"x" * (KEPT // 4))
    new, more = spoken.take()
    assert len(new) == NEW and len(new) + more == 10 * (KEPT // 4)
    assert len(spoken.kept) == KEPT


def test_who_never_stops_is_not_waited_for(pipe: tuple[Spoken, int]) -> None:
    spoken, write = pipe
    stop = threading.Event()

    def flood() -> None:
        while not stop.is_set():
            os.write(write, b"y" * 4096)

    writer = threading.Thread(target=flood)
    writer.start()
    try:
        assert all(spoken.take() for _ in range(20))
    finally:
        stop.set()
        writer.join()
