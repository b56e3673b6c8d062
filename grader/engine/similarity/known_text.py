# SPDX-License-Identifier: MIT
"""Collects what does not count as a similarity: all that the course itself gives.

Starters and headers come from the handout. The solutions come from the repository. Of
each bug hunt the broken and the repaired file count only in the same bug hunt.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from grader import solution_marks
from grader.course.exhibits import HUNT
from grader.engine.similarity.pairs import readable, topic_of
from grader.engine.similarity.winnowing import fingerprints


class Given:
    """The fingerprints that do not count."""

    def __init__(self, handout: Path, repository: Path | None) -> None:
        """`repository`: where the solutions are; None: the solutions count."""
        self._all: set[int] = set()
        self._by_topic: dict[str, set[int]] = defaultdict(set)
        for place, text in _texts(handout):
            where = self._by_topic[topic_of(place)] if HUNT in place else self._all
            where.update(fingerprints(text, Path(place).suffix))
        for place, text in _texts(repository) if repository else ():
            solved = solution_marks.solved(text)
            found = fingerprints(solved, Path(place).suffix)
            self._by_topic[topic_of(place)].update(found)

    def of(self, topic: str) -> set[int]:
        """Those of a topic."""
        return self._all | self._by_topic[topic]


def _texts(root: Path) -> Iterator[tuple[str, str]]:
    """The sources of the labs and the headers of a tree, by place."""
    files = [*root.glob("labs/**/*"), *root.glob("common/*.h")]
    for file in sorted(files):
        place = file.relative_to(root).as_posix()
        if readable(place) and file.is_file():
            yield place, file.read_text(encoding="utf-8", errors="replace")
