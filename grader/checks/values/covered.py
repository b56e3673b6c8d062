# SPDX-License-Identifier: MIT
"""Finds the cases that a file covers, and compares them with lab.toml's `covers`.

If a file has `covers` in lab.toml, it names tags of the operator (Operator.tags). The
file must cover every case that one of these tags fits. It must be right in every case
that it covers. The number checks note the cases that it leaves. score.py counts points
by them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from grader.checks.check_result import CheckResult
from grader.checks.subject import Subject
from grader.errors import GraderError
from grader.operators import Case
from grader.verdicts import Verdict

NAMED = 4  # cases that a sentence names


@dataclass
class Coverage:
    """What one number check saw of a file, case by case."""

    subject: Subject
    direction: str
    asked: dict[str, int] = field(default_factory=dict)  # family -> results
    left: dict[str, list[str]] = field(default_factory=dict)  # family -> "case result"
    missing: dict[str, dict[str, None]] = field(default_factory=dict)  # tag -> cases
    refused: set[str] = field(default_factory=set)  # cases that it leaves whole
    cases: int = 0

    def note(self, case: Case) -> None:
        """The last call was of this case."""
        if not self.subject.covers:
            return
        self.cases += 1
        family = self.subject.operator.family(case)
        results = self._results(case)
        left = [name for k, name in results.items() if k in self.subject.left]
        self.asked[family] = self.asked.get(family, 0) + len(results)
        self.left.setdefault(family, []).extend(f"{case.name} {name}" for name in left)
        if len(left) == len(results):
            self.refused.add(case.name)
        tags = self.subject.operator.tags(case)
        for name in left:
            covers = self.subject.covers
            for tag in (*covers.get("", ()), *covers.get(name, ())):
                if _has(tags, tag):
                    self.missing.setdefault(tag, {})[case.name] = None

    def _results(self, case: Case) -> dict[int, str]:
        """The results that a case asks for, by position."""
        operator = self.subject.operator
        signature = operator.signature
        if self.direction == "forward":
            return {0: signature.outputs[0].name}
        first = len(signature.outputs) + len(signature.saved)
        wanted = zip(signature.gradients, operator.wanted(case))
        return {first + k: f"grad_{n}" for k, (n, w) in enumerate(wanted) if w}

    def of(self, result: CheckResult) -> CheckResult:
        """A check's result with what was left; a right file that covers too little is
        not written yet. In other dtypes than the first one it may cover less.
        """
        if not self.subject.covers:
            return result
        covered = self.cases - len(self.refused)
        if result.dtype != self.subject.dtypes[0]:
            return replace(result, cases=covered)
        self.subject.refused[self.direction] = self.refused
        left = {family: tuple(names) for family, names in self.left.items()}
        result = replace(
            result, cases=covered, of=self.cases, asked=self.asked, left=left
        )
        text = self._lacking(covered)
        if result.verdict is not Verdict.PASS or not text:
            return result
        return replace(result, verdict=Verdict.NOT_IMPLEMENTED, message=text)

    def _lacking(self, covered: int) -> str:
        """What a file does not cover and should; "" if it covers what it says."""
        if not covered:
            return (
                f"covers none of the {self.cases} cases: it leaves all of them to "
                "other files"
            )
        said = [f"{t} ({_some(list(names))})" for t, names in self.missing.items()]
        if not said:
            return ""
        return (
            f"covers {covered} of {self.cases} cases. lab.toml says that it covers "
            f"{', '.join(said)}: compute these cases too"
        )


def _has(tags: Mapping[str, bool], tag: str) -> bool:
    """Whether a tag fits a case. Raises GraderError for one that nobody knows."""
    if tag not in tags:
        listed = ", ".join(sorted(tags)) or "none"
        raise GraderError(
            f"lab.toml: 'covers' names the tag {tag!r}, but the tags of this operator "
            f"are: {listed}"
        )
    return tags[tag]


def _some(names: Sequence[str]) -> str:
    """Some names, and that there are more."""
    more = ", ..." if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
