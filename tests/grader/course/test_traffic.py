# SPDX-License-Identifier: MIT
"""Limits of traffic: arithmetic of sizes, for one case or several."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.checks.check_result import CheckResult
from grader.checks.cuda import under_cusim
from grader.course.rungs import Rung
from grader.course.traffic import parse, value
from grader.engine.checking import inspect_cuda
from grader.errors import GraderError
from grader.verdicts import Verdict


@pytest.mark.parametrize(
    ("formula", "number"), [("1.1 * (COUNT + K) / 2 - 1", 6.7), (4.4, 4.4)]
)
def test_a_limit_is_arithmetic_of_sizes(formula, number):
    assert value(formula, {"COUNT": 10, "K": 4}) == pytest.approx(number)


@pytest.mark.parametrize(
    "formula", ["COUNT ** 9", "__import__('os')", "X", "COUNT if K else 0", "'a' * 9"]
)
def test_a_limit_is_nothing_but_arithmetic(formula):
    with pytest.raises(GraderError, match="expected only numbers"):
        value(formula, {"COUNT": 10, "K": 4})


def test_limits_may_hold_for_several_cases():
    one = {"forward": {"case": "m96", "bytes": 8}}
    both = {"forward": {"case": ["m96", "m96_turned"], "bytes": 8}}
    (first,) = parse("lab.toml", one)
    assert [limits.case for limits in parse("lab.toml", both)] == ["m96", "m96_turned"]
    assert parse("lab.toml", both)[0] == first


@pytest.mark.parametrize("over", ["", "m96", "m96_turned"])
def test_each_case_is_looked_at_until_one_is_over_its_limit(monkeypatch, over):
    asked = []

    def traffic(_watched, limits, *_):
        asked.append(limits.case)
        verdict = Verdict.TRAFFIC if limits.case == over else Verdict.PASS
        return CheckResult("traffic", limits.direction, verdict, message=limits.case)

    monkeypatch.setattr(under_cusim, "traffic", traffic)
    words = {"case": ["m96", "m96_turned"], "bytes": 8}
    moves = parse("lab.toml", {"backward": {**words, "case": "m2"}, "forward": words})
    checker = object.__new__(inspect_cuda.DeviceInspection)
    checker.rung = Rung("04_cuda_kernels/matmul", Path("x.cu"), traffic=moves)
    checker.seed, checker.subject = 0, None
    found = checker._moved(None, "forward", [])
    assert asked == ["m96"] if over == "m96" else ["m96", "m96_turned"]
    assert found.verdict is (Verdict.TRAFFIC if over else Verdict.PASS)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"sideways": {"case": "x"}}, "only the tables 'forward' and 'backward'"),
        ({"forward": {"bytes": 3}}, "has no case"),
        ({"forward": {"case": [], "bytes": 3}}, "has no case"),
        ({"forward": {"case": "x", "byte": 3}}, "unknown key 'byte'"),
        ({"forward": {"case": "x", "bytes": "1 +"}}, "is not a formula"),
    ],
)
def test_strange_limits_are_refused(entry, words):
    with pytest.raises(GraderError, match=words):
        parse("lab.toml", entry)
