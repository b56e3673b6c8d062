# SPDX-License-Identifier: MIT
"""The HTML report as text: what it says, and what students cannot make it say.

Results are made up, except for those of one small grading. How a browser shows the
page is in test_report_browser.py.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from grader.course.rungs import ROOT
from grader.engine import results
from grader.engine.answers import as_json
from grader.engine.results import SCHEMA_FILE
from grader.errors import GraderError
from grader.report import bench_page, html
from grader.report.failure.excerpt import excerpt
from grader.verdicts import Verdict
from tests.grader.engine import results as made

LARGEST = 450_000  # bytes of the report of a full course
CONV2D = "03_im2col_cpu/conv2d"
HOSTILE = '<script>window.hit = 1</script><img src=x onerror="window.hit = 2">'


def valid(results: dict[str, Any]) -> dict[str, Any]:
    """Results as the schema has them."""
    jsonschema.validate(results, json.loads(SCHEMA_FILE.read_text()))
    return results


def rendered(found: dict[str, Any], root: Path = ROOT) -> str:
    """The page of a result file's contents."""
    return html.render(as_json.results(found), root)


def one_file(root: Path, source: str, **more: Any) -> dict[str, Any]:
    """Results of one file in `root`, whose forward is wrong at line 6."""
    entry = made.rung("02_naive_c/gelu", 0)
    file = root / entry["file"]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(source)
    entry["sha256"] = hashlib.sha256(file.read_bytes()).hexdigest()
    wrong = {"verdict": "WRONG_VALUE", "location": f"{entry['file']}:6", **more}
    entry["checks"] = [made.check("forward", "forward", **wrong)]
    return valid(made.whole([made.task("02_naive_c/gelu", [entry], points=0.0)]))


# ---- what it says --------------------------------------------------------------------


def test_every_verdict_is_told_with_its_message_and_command():
    text = rendered(valid(made.whole([made.every_verdict("02_naive_c/layer_norm")])))
    others = [verdict for verdict in Verdict if verdict is not Verdict.PASS]
    assert all(f"this is what {verdict} says" in text for verdict in others)
    assert text.count("make debug T=") == len(others)


def test_pending_verdicts_look_different_from_failed_ones():
    text = rendered(made.whole([made.every_verdict("02_naive_c/layer_norm")]))
    for verdict in Verdict:
        mark = rf'class="v (\w+)"><svg>.{{0,40}}</svg><span>{verdict}<'
        kind = re.search(mark, text)[1]
        styles = {Verdict.PASS: "pass", Verdict.NOT_IMPLEMENTED: "todo"}
        assert kind == styles.get(verdict, "pending" if verdict.pending else "fail")


def test_the_matrix_has_a_cell_for_every_operator_and_lab():
    task = made.task("02_naive_c/conv2d", [made.rung("02_naive_c/conv2d", 0)])
    text = rendered(valid(made.whole([task])))
    matrix = re.search(r'<table class="matrix">.*?</table>', text, re.S)[0]
    assert matrix.count("<td>") == 50
    assert matrix.count('<span class="dash">') == 49
    assert 'href="#02-naive-c-conv2d"' in matrix and 'id="02-naive-c-conv2d"' in text


def test_the_head_names_points_seed_and_date():
    text = rendered(made.course())
    head = re.sub(r"<[^>]*>", " ", text[text.index("<h1>") :])[:600]
    assert re.search(r"82\s+of 84 points", head)
    assert "21 November 2026, 19:30" in head and re.search(r"seed\s+7\b", head)


def test_a_mistake_and_a_diagnosis_are_named(tmp_path):
    diagnosis = {"diagnosis": "the padding is swapped", "mistake": "padding_swapped"}
    text = rendered(one_file(tmp_path, "\n" * 9, **diagnosis), tmp_path)
    assert "the padding is swapped" in text and "<code>padding_swapped</code>" in text


def test_what_was_not_measured_is_said_in_a_sentence():
    results = made.whole([made.task(CONV2D, [made.rung(CONV2D, 0)])])
    del results["environment"]["machine"], results["date"]
    text = rendered(valid(results))
    assert "No speed was measured in this run." in text
    assert "peaks were not measured in this run." in text
    assert "roofline" not in re.sub(r"<style>.*?</style>", "", text, flags=re.S)


def test_speeds_without_some_fields_show_dashes():
    bare = {"case": "r28", "direction": "forward", "verdict": "NOISY"}
    bare |= {"baseline": "", "of": "fma", "earned": 0, "message": "too noisy to tell"}
    entry = made.rung(CONV2D, 0, speed=[bare])
    text = rendered(valid(made.whole([made.task(CONV2D, [entry])])))
    row = re.search(r"<tr><th rowspan=.*?</tr>", text, re.S)[0]
    assert row.count("–") == 7 and "<td>0<" in row and "NOISY" in row
    assert "too noisy to tell" in text


# ---- source --------------------------------------------------------------------------


def test_an_excerpt_has_four_lines_on_each_side_and_marks_the_place(tmp_path):
    source = "".join(f"line{number};\n" for number in range(1, 30))
    text = rendered(one_file(tmp_path, source), tmp_path)
    shown = re.search(r'<pre class="source".*?</pre>', text, re.S)[0]
    assert re.findall(r"line\d+;", shown) == [f"line{n};" for n in range(2, 11)]
    assert "<mark><i>6</i>line6;</mark>" in shown and shown.count("<mark>") == 1


def test_a_file_that_was_changed_is_not_shown(tmp_path):
    results = one_file(tmp_path, "old;\n" * 9)
    (tmp_path / results["tasks"][0]["rungs"][0]["file"]).write_text("new;\n" * 9)
    text = rendered(results, tmp_path)
    assert "no excerpt: the file is not the one that was graded" in text
    assert "new;" not in text and "old;" not in text


def test_an_excerpt_never_leaves_the_labs(tmp_path):
    (tmp_path / "labs").mkdir()
    secret = tmp_path / "secret.c"
    secret.write_text("secret\n")
    sha256 = hashlib.sha256(secret.read_bytes()).hexdigest()
    for name in ("secret.c", "labs/../secret.c"):
        found = excerpt(f"{name}:1", file=name, sha256=sha256, root=tmp_path)
        assert found and not found.lines
    (tmp_path / "labs/secret.c").write_text("secret\n")
    inside = {"file": "labs/secret.c", "sha256": sha256, "root": tmp_path}
    assert excerpt("labs/secret.c:1", **inside).lines[0].text == "secret"
    assert excerpt("common/real.h:1", **inside) is None


# ---- what students write -------------------------------------------------------------


def hostile(root: Path) -> dict[str, Any]:
    """Results in which everything a student can choose is markup."""
    results = one_file(
        root,
        f"// {HOSTILE}\n" * 9,
        message=HOSTILE + "\u202e turned \x1b[31m",
        diagnosis=HOSTILE,
        mistake=HOSTILE,
        replay=f"make debug {HOSTILE}",
    )
    entry = results["tasks"][0]["rungs"][0]
    renamed = {"id": f"02_naive_c/gelu/{HOSTILE}", "file": f"labs/{HOSTILE}.c"}
    other = {**entry, **renamed, "uses": {HOSTILE: HOSTILE}}
    words = {"baseline": HOSTILE, "case": HOSTILE, "message": HOSTILE}
    other["speed"] = [made.speed(3, "forward", **words)]
    results["tasks"][0]["rungs"].append(other)
    results["environment"]["cpu"] = HOSTILE
    return valid(results)


class Tags(HTMLParser):
    """Counts the elements of a page that can do something."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        handlers = [name for name, _ in attrs if name.startswith("on")]
        if tag in ("script", "img", "iframe", "object", "link") or handlers:
            self.found.append(tag)


def test_markup_in_a_students_text_stays_text(tmp_path):
    text = rendered(hostile(tmp_path), tmp_path)
    tags = Tags()
    tags.feed(text)
    assert sorted(tags.found) == ["link", "script"]  # both are the page's own
    assert text.count("&lt;script&gt;") >= 12
    assert "\u202e" not in text and "? turned ?[31m" in text


def test_a_message_without_end_is_cut(tmp_path):
    line = "x" * 1500
    endless = "\n".join(["x" * 50_000, *[line] * 20])
    text = rendered(one_file(tmp_path, "\n" * 9, message=endless), tmp_path)
    assert " ... (shortened)" in text and "x" * 2000 not in text
    assert text.count(line) < 5


# ---- the file ------------------------------------------------------------------------


def test_the_report_of_a_full_course_is_small():
    whole = valid(made.course())
    assert len(whole["tasks"]) == 50
    assert len(rendered(whole).encode()) < LARGEST


def test_nothing_in_the_page_leads_out_of_it(tmp_path):
    text = rendered(hostile(tmp_path), tmp_path)
    targets = re.findall(r"(?:href|src|action|data)=\"([^\"]*)\"", text)
    targets += re.findall(r"url\(([^)]*)\)|@import\s+([^;]*)", text)
    assert {t for t in targets if not str(t).startswith("#")} <= {
        "data:,",
        ("#cap", ""),
    }
    assert not re.search(r"https?:|[\"'(]//", text)


def test_only_the_pages_own_script_and_style_may_run():
    text = rendered(made.course())
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    assert policy.startswith("default-src 'none';") and "unsafe" not in policy
    for kind in ("script", "style"):
        (inside,) = re.findall(rf"<{kind}>(.*?)</{kind}>", text, re.S)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy


def damaged(value: Any, place: list[Any]) -> Iterator[tuple[list[Any], Any]]:
    """Places in a value, each with the part of it that stands there."""
    yield place, value
    parts = value.items() if isinstance(value, dict) else ()
    for key, part in parts or (enumerate(value) if isinstance(value, list) else ()):
        yield from damaged(part, [*place, key])


def without(whole: Any, place: list[Any], *instead: Any) -> Any:
    """A copy that has something else at a place, or nothing."""
    copied = json.loads(json.dumps(whole))
    inner = copied
    for key in place[:-1]:
        inner = inner[key]
    if instead:
        inner[place[-1]] = instead[0]
    else:
        del inner[place[-1]]
    return copied


def test_a_damaged_result_file_counts_as_none(tmp_path, monkeypatch):
    """As jsonschema, which takes longer to import, judges by missing parts and types;
    numbers and texts of the right type are believed.
    """
    entry = made.rung("02_naive_c/gelu", 0)
    entry["checks"], entry["speed"] = entry["checks"][:1], [made.speed(3, "forward")]
    whole = valid(made.whole([made.task("02_naive_c/gelu", [entry])]))
    judge = jsonschema.Draft202012Validator(json.loads(SCHEMA_FILE.read_text()))
    monkeypatch.setenv("CONVLAB_BUILD", str(tmp_path))
    results.make_folder(results.folder())
    refused = 0
    for place, value in list(damaged(whole, []))[1:]:
        changes = [without(whole, place)]
        changes += [without(whole, place, x) for x in (None, {}, [], True, 1, 0.5, "x")]
        for changed in changes:
            errors = list(judge.iter_errors(changed))
            if any(e.validator in ("pattern", "minimum", "maximum") for e in errors):
                continue
            results.path().write_text(json.dumps(changed))
            found = results.read()
            assert (found is None) == bool(errors), (place, value, changed)
            refused += found is None
    assert refused > 200
    results.path().write_text(json.dumps(whole))
    assert results.read() == as_json.results(whole)


@pytest.mark.parametrize("text", ['{"schema":1,"tasks":[{"id":"x"}]}', "[" * 10**5, ""])
def test_a_result_file_without_sense_counts_as_none(tmp_path, monkeypatch, text):
    monkeypatch.setenv("CONVLAB_BUILD", str(tmp_path))
    results.make_folder(results.folder())
    results.path().write_text(text)
    assert results.read() is None


def test_a_report_that_cannot_be_written_is_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("CONVLAB_BUILD", str(tmp_path))
    assert html.write(as_json.results(made.course())) == tmp_path / "grade/report.html"
    html.path().unlink()
    html.path().mkdir()
    with pytest.raises(GraderError, match="cannot write to"):
        html.write(as_json.results(made.course()))
    assert [file.name for file in html.path().parent.iterdir()] == ["report.html"]


def test_without_jinja2_the_report_says_what_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(GraderError, match="needs the package jinja2"):
        rendered(made.course())


# ---- the command ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the results and the report of one small task."""
    folder = tmp_path_factory.mktemp("graded")
    for arguments in (["grade", "02_naive_c/gelu", "CHECK=forward"], ["report"]):
        command = [sys.executable, "-m", "grader", *arguments]
        environment = {**os.environ, "CONVLAB_BUILD": str(folder), "SPEED": "off"}
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert "convlab:" not in done.stderr, done.stderr
    return folder / "grade"


def test_make_report_tells_what_make_grade_found(graded):
    results = valid(json.loads((graded / "results.json").read_text()))
    text = (graded / "report.html").read_text()
    assert f"make grade SEED={results['seed']}" in text
    assert results["environment"]["compiler"] in text
    for rung in results["tasks"][0]["rungs"]:
        assert f"<h5>{Path(rung['file']).name}</h5>" in text


def test_make_report_without_results_says_what_to_do(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "grader", "report"],
        cwd=ROOT,
        env={**os.environ, "CONVLAB_BUILD": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2 and "run make grade first" in done.stderr


# ---- pictures ------------------------------------------------------------------------


def rows() -> list[dict[str, Any]]:
    """What make bench measures of one ladder."""
    return [
        {
            **made.speed(step, "forward"),
            "task": CONV2D,
            "rung": f"{CONV2D}/{step:02d}_x",
        }
        for step in range(6)
    ]


def bench_of(entries: list[dict[str, Any]], tmp_path: Path) -> str:
    """The page of a bench file with these rows."""
    found = {
        "command": "make bench T=03_im2col_cpu/conv2d",
        "environment": {"machine": made.MACHINE},
        "rows": entries,
    }
    return bench_page.write(found, "a <machine>", tmp_path / "b" / "x.html").read_text()


def test_the_page_of_make_bench_has_a_chart_a_case_with_its_files_side_by_side(
    tmp_path: Path,
):
    cases = [{**row, "part": row["direction"]} for row in rows()]
    cases += [{**row, "case": "other", "part": "grad_input"} for row in cases[:2]]
    text = bench_of(cases, tmp_path)
    figures = re.findall(r"<figcaption>(.*?)</figcaption>(.*?)</figure>", text, re.S)
    first, other, under_roofs = figures
    assert first[1].count("<rect") == 6 and other[1].count("<rect") == 2
    assert other[0] == "other" and "05 x" in first[1]
    assert under_roofs[1].count('href="#forward"') == 6
    assert "a &lt;machine&gt;" in text and "make bench T=" in text


def test_a_page_without_times_draws_nothing(tmp_path: Path):
    bare = {**rows()[0], "part": "forward", "ratio": float("nan")}
    del bare["gflops"]
    assert "<figure" not in bench_of([bare], tmp_path)
