# SPDX-License-Identifier: MIT
"""A report of cusim lies where a student's code can write: whatever stands there, it is
read, worded and drawn without an exception.
"""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from cusim import report
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.checks.cuda import cusim_report

PLACE = {"what": "written", "file": "a.cu", "line": 3, "block": [0, 0, 0]}
FINDING = {
    "level": "error",
    "kind": "race",
    "sentence": "two threads",
    "places": [PLACE],
}
COUNT = {
    **{"record": "count", "kernel": "k", "space": "shared", "op": "load"},
    **{"width": 4, "requests": 1, "lanes": 32, "possible_lanes": 32},
    **{"sectors": 0, "wavefronts": 1, "bytes": 0},
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4)
    ),
    max_leaves=6,
)


def broken(record: dict) -> st.SearchStrategy[dict]:
    """The record with some of its values replaced."""
    return st.fixed_dictionaries(
        {key: st.just(value) | JSON for key, value in record.items()}
    )


PLACES = st.lists(broken({**PLACE, "module": "m.so", "offset": 7}), max_size=2)
RECORDS = JSON | broken(FINDING) | broken(COUNT)
RECORDS |= PLACES.map(lambda places: {**FINDING, "places": places})


def test_a_finding_and_a_count_are_read():
    found = report.parse(f"{json.dumps(FINDING)}\n{json.dumps(COUNT)}\n")
    assert [one.kind for one in found.findings] == ["race"]
    assert found.findings[0].lines == (3,) and found.counts[0].lanes == 32


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": []},
        {"kind": None},
        {"level": 3},
        {"sentence": {}},
        {"places": 5},
        {"places": [[]]},
        {"places": [{**PLACE, "line": "x"}]},
        {"places": [{**PLACE, "thread": [1, 2]}]},
        {"places": [{**PLACE, "line": 10**30}]},
        {"places": [{"line": 3}]},
        {"places": [{"what": "read", "module": "a\0b", "offset": 3}]},
        {"places": [{"what": "read", "module": "\ud800", "offset": 3}]},
    ],
    ids=str,
)
def test_a_line_that_cusim_cannot_have_written_is_left_out(wrong):
    text = f"{json.dumps({**FINDING, **wrong})}\n{json.dumps(FINDING)}\n"
    assert len(report.parse(text).findings) == 1


@settings(max_examples=2000, deadline=None)
@given(st.lists(RECORDS.map(json.dumps) | st.text(), max_size=3).map("\n".join))
def test_any_text_is_read_and_worded(text):
    found = report.parse(text)
    report.render_findings(found), report.render_counts(found)
    reply = SimpleNamespace(report=text.encode(errors="replace"), status=0)
    worker = SimpleNamespace(reply=reply, message="", kind="c", program="worker-cuda")
    cusim_report.finding(worker, "small", ["input", "output"], ["race"])
