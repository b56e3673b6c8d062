# SPDX-License-Identifier: MIT
"""Reports through a pipe which files below labs/ were saved; a loop can wait for it."""

from __future__ import annotations

import os
import threading
from collections import deque
from pathlib import Path

from grader.closing import Closing
from grader.errors import GraderError

WITHIN_MS = 30  # an editor's writes within this time are one save
ASIDE = ("__pycache__", ".ipynb_checkpoints", "build")
SUFFIXES = (".c", ".cu", ".cpp", ".h", ".py", ".toml")


class Saves(Closing):
    """Watches a folder from another thread. `pipe` is readable when something was
    saved; `take` says what.
    """

    def __init__(self, folder: Path) -> None:
        """Raises GraderError if watchfiles is not installed."""
        try:
            import watchfiles
        except ImportError as error:
            raise GraderError(
                "make watch needs the package watchfiles: leave out PYTHON=, or "
                "install this package into your environment (pip install watchfiles)"
            ) from error
        self.pipe, self._bell = os.pipe()
        self._found: deque[Path] = deque()
        self._stop = threading.Event()
        self._watch = watchfiles.watch(
            folder,
            watch_filter=lambda _, path: _counts(Path(path)),
            debounce=10 * WITHIN_MS,
            step=WITHIN_MS,
            stop_event=self._stop,
            raise_interrupt=False,
        )
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop watching."""
        self._stop.set()
        self._thread.join(timeout=2)
        os.close(self.pipe)

    def take(self) -> list[Path]:
        """What was saved, created or removed since the last call, the newest last."""
        os.read(self.pipe, 4096)
        found: dict[Path, None] = {}
        while self._found:
            path = self._found.popleft()
            found.pop(path, None)
            found[path] = None
        return list(found)

    def _listen(self) -> None:
        for changes in self._watch:
            for _, name in sorted(changes, key=lambda change: change[1]):
                self._found.append(Path(name))
            os.write(self._bell, b"!")


def _counts(path: Path) -> bool:
    """Whether grading may depend on a file: not an editor's own, and nothing built."""
    if path.suffix not in SUFFIXES or path.name.startswith((".", "#")):
        return False
    return not any(part in ASIDE for part in path.parts)
