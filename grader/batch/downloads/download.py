# SPDX-License-Identifier: MIT
"""Holds what a download says of the students, their files and the times."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

Marks = Mapping[str, str]  # column of ROSTER= -> value; the surest column first


@dataclass(frozen=True)
class Attempt:
    """One of the times that somebody handed in."""

    source: Path  # a folder or an archive
    when: datetime | None = None  # None: the download does not say
    number: int = 1  # from 1, as the platform counts
    of: int = 1
    said: str = ""  # what else the platform says


@dataclass(frozen=True)
class HandIn:
    """The work of a student or of a team."""

    submitters: tuple[Marks, ...]
    attempts: tuple[Attempt, ...] = ()  # the first one first
    why: str = ""  # why it cannot be graded
    before: Callable[[datetime], Attempt | None] | None = None  # one more attempt


@dataclass(frozen=True)
class Download:
    """Everybody's work, and what an instructor should know of the platform."""

    hand_ins: tuple[HandIn, ...]
    notes: tuple[str, ...] = ()
