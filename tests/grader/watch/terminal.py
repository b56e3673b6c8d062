# SPDX-License-Identifier: MIT
"""A terminal that a test looks at and types into: tmux, with a server of its own."""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from grader.closing import Closing

WAIT = 60.0  # seconds for what takes one or two on a quiet machine


class Terminal(Closing):
    """One program in one window. Close it when done."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        size: tuple[int, int] = (80, 24),
        patience: float = WAIT,
    ) -> None:
        """`patience`: seconds that `until` waits."""
        self.patience = patience
        self.name = f"convlab-{os.getpid()}-{time.monotonic_ns()}"
        words = ["env", *(f"{k}={v}" for k, v in env.items()), *command]
        line = f"{shlex.join(words)}; echo ended with $?; sleep 600"
        width, height = (str(n) for n in size)
        self._tmux("-f", "/dev/null", "new-session", "-d", "-x", width, "-y", height,
                   "-c", str(cwd), line)  # fmt: skip

    def close(self) -> None:
        """End the program and the terminal."""
        subprocess.run(["tmux", "-L", self.name, "kill-server"], capture_output=True)

    def process(self) -> int:
        """The shell that the program runs in."""
        return int(self._tmux("display-message", "-p", "#{pane_pid}"))

    def text(self) -> str:
        """What stands on the screen now."""
        return self._tmux("capture-pane", "-p")

    def colours(self) -> str:
        """The same with its escape sequences."""
        return self._tmux("capture-pane", "-p", "-e")

    def press(self, keys: str) -> None:
        """Type something."""
        self._tmux("send-keys", "-l", keys)

    def enter(self) -> None:
        """Press Enter."""
        self._tmux("send-keys", "Enter")

    def resize(self, width: int, height: int) -> None:
        """Give the window another size."""
        self._tmux("resize-window", "-x", str(width), "-y", str(height))

    def until(self, *wanted: str, without: str = "") -> str:
        """The screen once all these words stand on it, and `without` does not."""
        return self.until_it(
            lambda text: (
                all(word in text for word in wanted)
                and not (without and without in text)
            ),
            f"{wanted} without {without!r}",
        )

    def until_it(self, holds: Callable[[str], bool], what: str) -> str:
        """The screen once something holds of it."""
        end = time.monotonic() + self.patience
        while not holds(text := self.text()):
            assert time.monotonic() < end, f"waited for {what}, came:\n{text}"
            time.sleep(0.02)
        return text

    def _tmux(self, *words: str) -> str:
        command = ["tmux", "-L", self.name, *words]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return done.stdout
