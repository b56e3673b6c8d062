# SPDX-License-Identifier: MIT
"""Says which files of a submission are graded, and why others are not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from grader.course.foreign import one_line


@dataclass(frozen=True)
class Laid:
    """What became of a submission's files."""

    names: tuple[str, ...]  # those that are graded
    written: Mapping[str, Mapping[str, str]]  # task -> file that is no starter -> hash
    left: Mapping[str, str]  # what does not count -> the reason

    @property
    def lines(self) -> list[str]:
        """What to tell of the files that do not count, a line for each reason."""
        paths: dict[str, list[str]] = {}
        for path, why in self.left.items():
            paths.setdefault(why, []).append(one_line(path))
        return [f"not graded, {why}: {', '.join(paths[why])}" for why in paths]
