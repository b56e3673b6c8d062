# SPDX-License-Identifier: MIT
"""An interruption in the middle of a start comes after it, once, to its own handler."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from grader.runner.supervisor.undisturbed import undisturbed


def test_an_interruption_is_answered_at_the_end_of_the_block() -> None:
    before, steps = signal.getsignal(signal.SIGINT), []
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), undisturbed():
            signal.raise_signal(signal.SIGINT)
            steps.append("after the signal")
        assert steps == ["after the signal"]
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_what_is_ignored_stays_ignored_and_what_ends_a_process_ends_it() -> None:
    text = """
import signal
from grader.runner.supervisor.undisturbed import undisturbed
signal.signal(signal.SIGHUP, signal.SIG_IGN)
with undisturbed():
    signal.raise_signal(signal.SIGHUP)
    print("ignored", flush=True)
    signal.raise_signal(signal.SIGTERM)
print("not reached")
"""
    command = [sys.executable, "-c", text]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stdout) == (-signal.SIGTERM, "ignored\n")
