# SPDX-License-Identifier: MIT
"""Exports of a grading, opened by independent readers: junitparser, a schema written
from Gradescope's specification, a reader of GitHub's workflow commands.

Gradescope: gradescope-autograders.readthedocs.io/en/latest/specs. Autolab:
docs.autolabproject.com/lab. GitHub: docs.github.com, "Workflow commands".
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import jsonschema
import pytest
from junitparser import Error, Failure, JUnitXml, Skipped

from grader.commands import autograde, cli, export
from grader.course.handed.laid import Laid
from grader.course.offered.course_file import Hidden
from grader.engine.answers import as_json
from grader.engine.marks import hand_in
from grader.errors import GraderError
from grader.report.exports import hosts
from grader.report.exports.junit import junit
from grader.report.exports.sheet import OURS, Remark, sheet
from grader.verdicts import Verdict
from tests.grader.course.offered import read
from tests.grader.engine import results

NASTY = (
    '=cmd|"/C calc"!A0 <script>alert(1)</script> & ]]> %0A::error::x\n'
    "::set-output name=a::b\r##[command]x \x1b[31m\x00 ünï \ud800"
)
VISIBLE = {"enum": ["hidden", "after_due_date", "after_published", "visible"]}
FORMAT = {"enum": ["text", "html", "simple_format", "md", "ansi"]}
GRADESCOPE = {
    "type": "object",
    "required": ["score", "tests"],
    "additionalProperties": False,
    "properties": {
        "score": {"type": "number"},
        "execution_time": {"type": "number"},
        "output": {"type": "string"},
        "output_format": FORMAT,
        "test_output_format": FORMAT,
        "test_name_format": FORMAT,
        "visibility": VISIBLE,
        "stdout_visibility": VISIBLE,
        "extra_data": {"type": "object"},
        "leaderboard": {"type": "array"},
        "tests": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["score", "max_score"],
                "additionalProperties": False,
                "properties": {
                    "score": {"type": "number"},
                    "max_score": {"type": "number"},
                    "status": {"enum": ["passed", "failed"]},
                    "name": {"type": "string"},
                    "name_format": FORMAT,
                    "number": {"type": "string"},
                    "output": {"type": "string"},
                    "output_format": FORMAT,
                    "tags": {"type": "array"},
                    "visibility": VISIBLE,
                    "extra_data": {"type": "object"},
                },
            },
        },
    },
}


def found(*tasks: dict[str, Any], hides: bool = False):
    """The sheet of made-up results."""
    whole = as_json.results(results.whole(list(tasks)))
    return sheet(whole, hides=hides)


def failing(
    task: str = "02_naive_c/gelu", verdict: str = "WRONG_GRADIENT", **more: Any
) -> dict[str, Any]:
    """A task with one check that failed, or has another verdict."""
    rung = results.rung(task, 0)
    rung["checks"] = [
        results.check("forward", "forward", dtype="f32"),
        results.check("gradient", "backward", verdict, dtype="f64", **more),
    ]
    return results.task(task, [rung], points=2.0)


@pytest.fixture
def everything():
    return found(
        results.every_verdict("02_naive_c/layer_norm"),
        results.task("02_naive_c/add", [results.rung("02_naive_c/add", 0)], core=False),
    )


def commands(printed: str) -> list[tuple[str, dict[str, str], str]]:
    """What GitHub's runner makes of a step's output: command, properties, text."""
    read = []
    for line in printed.splitlines():
        assert "##[" not in line
        if line.lstrip().startswith("::"):
            head, _, text = line.lstrip()[2:].partition("::")
            name, _, words = head.partition(" ")
            pairs = dict(word.split("=", 1) for word in words.split(",") if word)
            read.append(
                (name, {k: decoded(v) for k, v in pairs.items()}, decoded(text))
            )
    return read


def decoded(text: str) -> str:
    for code, letter in (("3A", ":"), ("2C", ","), ("0D", "\r"), ("0A", "\n")):
        text = text.replace(f"%{code}", letter)
    return text.replace("%25", "%")


# ---- each format ---------------------------------------------------------------------


def test_junit_has_a_case_for_each_check_and_the_kind_of_its_outcome(everything):
    suites = list(JUnitXml.fromstring(junit(everything).encode()))
    assert [suite.name for suite in suites] == [row.task for row in everything.rows]
    first = suites[0]
    kinds = {Failure: "failures", Error: "errors", Skipped: "skipped"}
    for kind, count in kinds.items():
        mine = [c for c in first if any(isinstance(r, kind) for r in c.result)]
        assert len(mine) == getattr(first, count) > 0
    assert first.tests == len(list(first)) == len(everything.rows[0].checks)
    assert first.errors == 1  # GRADER: our fault
    pending = [verdict for verdict in Verdict if verdict.pending]
    assert first.skipped == len(pending) - 1
    assert suites[1].failures == suites[1].errors == suites[1].skipped == 0


def test_gradescope_gets_a_test_for_each_task_and_the_sum(everything):
    answer = json.loads(hosts.gradescope(everything))
    jsonschema.validate(answer, GRADESCOPE)
    assert answer["score"] == sum(test["score"] for test in answer["tests"]) == 6
    assert [test["status"] for test in answer["tests"]] == ["failed", "passed"]
    assert (
        answer["tests"][1]["max_score"] == 0 and "extra" in answer["tests"][1]["name"]
    )
    assert answer["stdout_visibility"] == "hidden"
    jsonschema.validate(json.loads(hosts.failed("gradescope", "why")), GRADESCOPE)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**answer, "visibility": "nobody"}, GRADESCOPE)


def test_autolab_gets_its_scores_in_one_line(everything):
    line = hosts.autolab(everything)
    assert "\n" not in line
    scores = json.loads(line)["scores"]
    assert scores == {"02_naive_c-layer_norm": 2, "02_naive_c-add": 4}


def test_github_gets_an_annotation_where_a_check_failed(everything):
    annotations = commands(hosts.github(everything))
    kinds = [name for name, _, _ in annotations]
    assert kinds.count("error") == hosts.MOST and kinds[-1] == "notice"
    _, words, text = annotations[0]
    assert words["file"] == "labs/02_naive_c/layer_norm/00_wrong_value.c"
    assert words["line"] == "12" and "WRONG_VALUE" in words["title"]
    assert text.startswith("all_options: this is what WRONG_VALUE says")
    assert annotations[-1][2] == "2 of 4 points and 4 extra; 1 are pending"


@pytest.mark.parametrize(
    ("verdict", "status"),
    [
        ("WRONG_VALUE", 1),
        ("CRASH", 1),
        ("NOT_IMPLEMENTED", 0),  # not written yet
        ("NOISY", 0),
        ("PASS", 0),
    ],
)
def test_a_step_at_github_is_red_where_a_check_is_wrong(
    monkeypatch, capsys, verdict, status
):
    whole = as_json.results(results.whole([failing(verdict=verdict)]))
    monkeypatch.setattr(export.results, "read", lambda: whole)
    monkeypatch.setenv("TO", "github")
    assert cli.run("export") == status
    assert commands(capsys.readouterr().out)[-1][0] == "notice"


# ---- nothing gets out, nothing breaks out --------------------------------------------


def test_words_of_students_break_out_of_no_format():
    one = found(failing(message=NASTY, location="labs/a,b:c%.c:3"))
    (suite,) = JUnitXml.fromstring(junit(one).encode())
    (bad,) = [case for case in suite if case.result]
    assert "<script>alert(1)</script> & ]]>" in bad.result[0].message
    answer = json.loads(hosts.gradescope(one))
    jsonschema.validate(answer, GRADESCOPE)
    formats = {answer["output_format"], *(t["output_format"] for t in answer["tests"])}
    assert formats == {"text"} and "\x1b" not in json.dumps(answer)
    read = commands(hosts.github(one))
    assert [name for name, _, _ in read] == ["error", "notice"]
    assert read[0][1].keys() == {"file", "line", "title"}
    json.loads(hosts.autolab(one))


def test_an_annotation_is_one_line_whatever_its_words_are():
    said = "x\r\n::error::y%0A ##[z"
    bad = Remark("t", "r", "a\nb,c:d", 3, "forward", Verdict.CRASH, said)
    line = hosts._annotation(bad)
    assert "\n" not in line and "\r" not in line
    ((_, words, text),) = commands(line)
    assert words["file"] == "a\nb,c:d" and text == said.replace("##[", "## [")


@pytest.mark.parametrize(
    "words",
    [
        {"message": "hidden_nine: 'output'[0, 0] is 1, expected 2"},
        {"message": "SIGABRT: the shapes are 3, 7 and 9", "location": "labs/x.c:379"},
        {"message": "off", "replay": "make debug T=x CASE=hidden_nine SEED=730417"},
        {"message": "wrong", "diagnosis": "only in hidden_nine"},
        {"message": "x.c:1: error: expected ';'; the line is: seeds = [730417]"},
    ],
)
@pytest.mark.parametrize("verdict", list(OURS))
def test_where_a_course_hides_anything_no_word_of_a_process_is_told(words, verdict):
    one = found(failing(verdict=str(verdict), **words), hides=True)
    for text in (hosts.github(one), junit(one), hosts.gradescope(one)):
        assert OURS[verdict] in text
        assert not re.search("nine|730417|expected|SIGABRT|3, 7|379|the line is", text)


def test_a_known_mistake_is_named_also_of_a_hidden_case():
    one = found(failing(message="hidden_nine: off", mistake="no tanh"), hides=True)
    assert "it looks like the mistake no tanh" in hosts.github(one)


def test_without_hidden_cases_all_is_told():
    words = {"message": "tanh: off", "replay": "make debug T=x CASE=tanh SEED=7"}
    one = found(failing(**words))
    for text in (hosts.github(one), junit(one), hosts.gradescope(one)):
        assert "tanh: off" in text and "SEED=7" in text


@pytest.mark.parametrize("host", autograde.KNOWN)
@pytest.mark.parametrize("error", [GraderError, KeyError])
def test_a_host_of_a_course_that_hides_anything_gets_no_word_of_a_process(
    tmp_path, monkeypatch, capsys, host, error
):
    def broken(*_: object) -> None:
        raise error("nothing was graded: the shapes are 3, 7 and 9")

    made = replace(read(tmp_path), hidden=Hidden(seeds=(730417,)))
    laid = Laid((), {}, {})
    monkeypatch.setattr(hand_in, "lay", lambda *_: laid)
    monkeypatch.setattr(hand_in, "grade", broken)
    monkeypatch.setattr(autograde, "here", lambda: made)
    for name, value in (("HOST", host), ("FROM", "x"), ("TO", str(tmp_path / "to"))):
        monkeypatch.setenv(name, value)
    assert cli.run("autograde") == 0
    printed = capsys.readouterr()
    shown = (tmp_path / "to").read_text() + printed.out
    shown += printed.err if host == "autolab" else ""
    assert "Tell your instructor" in shown and "3, 7" not in shown
