# SPDX-License-Identifier: MIT
"""Finds the line of lab 05's C++ that a failure comes from.

A worker knows only lines of Python. If C++ throws, a rule or the caller of the operator
catches it in Python. But the fix belongs in neither of them. The sentence of the error
shows whether C++ is at fault. The dispatcher's sentences are about the schema. The
argument checks' sentences are about a result, and only C++ makes results.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from signatures.of_exhibits import ALL

from grader.checks.check_result import CheckResult
from grader.course.rungs import Rung
from grader.verdicts import Verdict

SCHEMA = re.compile(
    r"convlab::(?P<called>\w+)\(\) (is missing|expected|Expected)"
    r"|Could not run 'convlab::(?P<unserved>\w+)'"
    r"|Registered schema has|[Uu]nknown type specifier"
)
LAB = "labs/05_torch_extension"
PYTHON = re.compile(r" \([^()]+\.py:\d+: [^\n]*\)$")  # the line that called C++


def placed(result: CheckResult, rung: Rung) -> CheckResult:
    """The result, at the line of C++ where what it tells of is said or made."""
    if result.verdict is Verdict.PASS:
        return result
    result = _of_exhibit(result, rung) if rung.exhibit else result
    lines = rung.file.read_text(encoding="utf-8", errors="replace").splitlines()
    operator = rung.operator
    if found := SCHEMA.search(result.message):
        number = _schema(lines, found["called"] or found["unserved"] or operator)
    elif name := _result(result.message, operator):
        number = _made(lines, operator, name)
    else:
        return result
    said = PYTHON.sub("", result.message)
    return replace(result, message=said, location=f"{rung.shown}:{number}")


def _of_exhibit(result: CheckResult, rung: Rung) -> CheckResult:
    """The result at the line of the exhibit's Python file; without a line if it has no
    such file. Its package has a copy under the name of the operator.
    """
    copy, place = f"{LAB}/convlab_ext/{rung.operator}.py", result.location or ""
    if any(file.suffix == ".py" for file in rung.also):
        own = str(Path(rung.shown).with_suffix(".py"))
        said, place = result.message.replace(copy, own), place.replace(copy, own)
    else:
        said = PYTHON.sub("", result.message)
        place = "" if place.startswith(copy) else place
    return replace(result, message=said, location=place or None)


def _result(message: str, operator: str) -> str:
    """The result whose sizes the argument checks refuse; "" if they refuse none."""
    signature = ALL[operator]
    results = [one.name for one in signature.outputs]
    results += [f"grad_{name}" for name in signature.gradients]
    found = re.search(rf"\b{operator}: '({'|'.join(results)})' must be \(", message)
    return found[1] if found else ""


def _schema(lines: list[str], name: str) -> int:
    """The line of m.def that says this operator's arguments, or the first one."""
    return _first(lines, rf'm\.def\("{name}\(') or _first(lines, r"\bm\.def\(") or 1


def _made(lines: list[str], operator: str, result: str) -> int:
    """Where a result gets its sizes, or the function begins that has to give them."""
    which = f"{operator}_backward" if result.startswith("grad_") else operator
    served = re.search(rf'm\.impl\("{which}",\s*\w+\(&(\w+)\)', "\n".join(lines))
    begin = _first(lines, rf"\b{served[1]}\(") if served else 0
    made = _first(lines[begin:], rf"\b{result}\s*[=({{]")
    return begin + made if made else begin or 1


def _first(lines: list[str], pattern: str) -> int:
    """The number of the first line that has it, from 1; 0 if none has."""
    there = (i for i, line in enumerate(lines, 1) if re.search(pattern, line))
    return next(there, 0)
