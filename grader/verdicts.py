# SPDX-License-Identifier: MIT
"""Lists all verdicts that a check can have, and what each does to points."""

from __future__ import annotations

from enum import StrEnum


class Verdict(StrEnum):
    """What came of a check. The value is the word that reports print."""

    PASS = "PASS"
    WRONG_VALUE = "WRONG_VALUE"
    WRONG_GRADIENT = "WRONG_GRADIENT"
    WRONG_CONTRACT = "WRONG_CONTRACT"
    NOT_IMPLEMENTED = "NOT_IMPLEMENTED"
    BUILD = "BUILD"
    CRASH = "CRASH"
    TIMEOUT = "TIMEOUT"
    MEMORY_ERROR = "MEMORY_ERROR"
    RACE = "RACE"
    TRAFFIC = "TRAFFIC"
    INCOMPLETE = "INCOMPLETE"
    LIMIT = "LIMIT"
    FORBIDDEN = "FORBIDDEN"
    SUSPECT = "SUSPECT"
    NOISY = "NOISY"
    PENDING_GPU = "PENDING_GPU"
    SKIPPED = "SKIPPED"
    BLOCKED = "BLOCKED"
    GRADER = "GRADER"

    @property
    def pending(self) -> bool:
        """Neither earned nor lost: not the student's doing."""
        return self in _PENDING

    @property
    def ok(self) -> bool:
        """Nothing for the student to mend: passed, or pending."""
        return self is Verdict.PASS or self.pending


_PENDING = {
    Verdict.NOISY,
    Verdict.PENDING_GPU,
    Verdict.SKIPPED,
    Verdict.BLOCKED,
    Verdict.GRADER,
}
