# SPDX-License-Identifier: MIT
"""Writes JUnit's XML for CI systems: a suite for each task, a case for each check."""

from __future__ import annotations

from xml.etree import ElementTree

from grader.report.exports.sheet import Checked, Row, Sheet
from grader.verdicts import Verdict


def junit(found: Sheet) -> str:
    """The whole file. What is pending is skipped, a fault of ours an error."""
    top = ElementTree.Element("testsuites", name="convlab")
    for row in found.rows:
        top.append(_suite(row))
    for what in ("tests", "failures", "errors", "skipped"):
        top.set(what, str(sum(int(suite.get(what, "0")) for suite in top)))
    ElementTree.indent(top)
    head = '<?xml version="1.0" encoding="UTF-8"?>\n'
    return head + ElementTree.tostring(top, encoding="unicode") + "\n"


def _suite(row: Row) -> ElementTree.Element:
    suite = ElementTree.Element("testsuite", name=row.task)
    counts = dict.fromkeys(("failure", "error", "skipped"), 0)
    for check in row.checks:
        name = f"{check.rung.rpartition('/')[2]}: {check.check}"
        case = ElementTree.SubElement(suite, "testcase", classname=row.task, name=name)
        if kind := _kind(check):
            counts[kind] += 1
            words = {"message": check.remark.sentence if check.remark else ""}
            if kind != "skipped":
                words["type"] = str(check.verdict)
            ElementTree.SubElement(case, kind, words)
    suite.set("tests", str(len(row.checks)))
    suite.set("failures", str(counts["failure"]))
    suite.set("errors", str(counts["error"]))
    suite.set("skipped", str(counts["skipped"]))
    return suite


def _kind(check: Checked) -> str:
    if check.verdict is Verdict.PASS:
        return ""
    if check.verdict is Verdict.GRADER:
        return "error"
    return "skipped" if check.verdict.pending else "failure"
