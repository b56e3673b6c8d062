# SPDX-License-Identifier: MIT
"""Writes Gradescope's results.json, Autolab's last line and GitHub's annotations."""

from __future__ import annotations

import json
from itertools import islice
from typing import Any

from grader.course.foreign import cleaned
from grader.engine.score import shown_points
from grader.report.exports.sheet import Remark, Row, Sheet
from grader.verdicts import Verdict

MOST = 10  # annotations: GitHub shows so many errors of a step


def gradescope(found: Sheet) -> str:
    """results.json, as Gradescope's autograder specification has it. All text is plain
    text; what the run printed stays with the instructor.
    """
    whole = {
        "score": _points(found),
        "output": "\n".join(filter(None, (_summary(found), cleaned(found.comment)))),
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": [_test(row, number) for number, row in enumerate(found.rows, 1)],
    }
    return json.dumps(whole, indent=1)


def failed(host: str, sentence: str) -> str:
    """What a host is told where a submission could not be graded: no task has any
    points, and the sentence says whose turn it is.
    """
    if host == "autolab":
        return f"{cleaned(sentence)}\n{autolab_line({})}"
    whole = {
        "score": 0,
        "output": cleaned(sentence),
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": [],
    }
    return json.dumps(whole, indent=1)


def _points(found: Sheet) -> float:
    return round(sum(row.points for row in found.rows), 4)


def _test(row: Row, number: int) -> dict[str, Any]:
    return {
        "name": f"{row.task} (extra)" if row.extra else row.task,
        "number": str(number),
        "score": row.points,
        "max_score": 0 if row.extra else row.of,
        "status": "passed" if row.full else "failed",
        "output": row.text,
        "output_format": "text",
        "name_format": "text",
        "visibility": "visible",
    }


def _summary(found: Sheet) -> str:
    extra = found.total("points", extra=True)
    more = f" and {shown_points(extra)} extra" if extra else ""
    pending = sum(row.pending for row in found.rows)
    left = f"; {shown_points(pending)} are pending" if pending else ""
    return (
        f"{shown_points(found.total('points', extra=False))} of "
        f"{shown_points(found.total('of', extra=False))} points{more}{left}"
    )


def autolab(found: Sheet) -> str:
    """The last line of the output: the scores of the assessment's problems, which are
    called as the tasks are, with - for /.
    """
    return autolab_line({row.task: row.points for row in found.rows})


def autolab_line(points: dict[str, float]) -> str:
    """Scores by task, as Autolab reads them."""
    return json.dumps({"scores": {problem(task): points[task] for task in points}})


def problem(task: str) -> str:
    """A task's name as a problem of Autolab: no slash, it may stand in a URL."""
    return task.replace("/", "-")


def github(found: Sheet) -> str:
    """Workflow commands: an annotation for each check that failed, then the points."""
    remarks = [remark for row in found.rows for remark in row.remarks]
    wrong = [r for r in remarks if _severity(r) == "error"]
    rest = (r for r in remarks if _severity(r) != "error")
    other = list(islice(rest, MOST))
    shown = list(islice(wrong, MOST))
    lines = [_annotation(remark) for remark in [*shown, *other]]
    if len(wrong) > MOST:
        lines.append(f"{len(wrong) - MOST} more checks failed: see the report")
    return "\n".join([*lines, f"::notice title=convlab::{_data(_summary(found))}"])


def wrong(found: Sheet) -> bool:
    """Whether a check is wrong: not one that nobody has written, nor a pending one."""
    remarks = (remark for row in found.rows for remark in row.remarks)
    return any(_severity(remark) == "error" for remark in remarks)


def _severity(remark: Remark) -> str:
    if remark.verdict is Verdict.NOT_IMPLEMENTED:
        return "notice"
    return "warning" if remark.verdict.pending else "error"


def _annotation(remark: Remark) -> str:
    words = {
        "file": remark.file,
        "line": str(max(1, remark.line)),
        "title": f"{remark.verdict} {remark.rung}, {remark.check}",
    }
    shown = ",".join(f"{key}={_property(value)}" for key, value in words.items())
    return f"::{_severity(remark)} {shown}::{_data(remark.sentence)}"


def _data(text: str) -> str:
    """Text that ends no command and begins none: also not the older ##[command]."""
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace("##[", "## [")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
