# SPDX-License-Identifier: MIT
"""One of the edits of a student's wrong line makes every case right."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.diagnosis.repair.in_c.c_edits import switchable
from tests.grader.diagnosis.repair import one_line_mistakes
from tests.grader.diagnosis.repair.fitting import Trial, build_switchable
from tests.grader.diagnosis.repair.one_line_mistakes import LAB, Mistake

RUNGS = [
    (file, direction)
    for file in sorted(LAB.glob("*/*.c"))
    if file.parent.name not in ("tensor_view", "bug_hunt")
    for direction in ("forward", "backward")
    if f"{file.parent.name}_{direction}(" in file.read_text()
]
NAMES = [f"{f.parent.name}/{f.stem[:2]} {direction}" for f, direction in RUNGS]


@pytest.mark.parametrize("file,direction", RUNGS, ids=NAMES)
def test_without_an_edit_a_file_does_the_same(
    file: Path, direction: str, tmp_path: Path
):
    operator = file.parent.name
    made = switchable(file, f"{operator}_{direction}", "f64")
    assert made and len(made.edits) > 100
    kept = build_switchable(made, file.parent, tmp_path / "edits.so")
    assert len(kept.edits) == len(made.edits)  # the compiler has refused none
    trial = Trial.drawn(operator, direction, tmp_path)
    assert trial.fitting(tmp_path / "edits.so", [0]) == {0}


@pytest.mark.parametrize(
    "text",
    [
        "int conv2d_forward(void) { return 1 }",
        "#include <no_such_header.h>\n",
        'int conv2d_forward(void) { asm("nop" ::: "memory"); return 0; }',
        "typedef float four __attribute__((vector_size(16)));\n"
        "int conv2d_forward(int x) { return x + 1; }",
        "int other_forward(int x) { return x + 1; }",
        "\xff",
        "",
    ],
)
def test_what_cannot_be_parsed_has_no_edits(text: str, tmp_path: Path):
    file = tmp_path / "strange.c"
    file.write_text(text, "latin-1")
    assert switchable(file, "conv2d_forward", "f64") is None


def test_an_edit_that_the_compiler_refuses_is_left_out(tmp_path: Path):
    made = switchable(LAB / "gelu" / "00_definition.c", "gelu_forward", "f64")
    assert made
    lines = made.text.splitlines()
    at = next(i for i, line in enumerate(lines, 1) if "/*7*/" in line)
    fewer = made.without(f"edits.c:{at}:4: error: no such thing")
    assert fewer and 1 <= len(made.edits) - len(fewer.edits) <= 2
    assert made.edits[6] not in fewer.edits
    assert made.without("edits.c:1:1: error: nothing of ours") is None


@pytest.mark.parametrize("mistake", one_line_mistakes.ALL, ids=lambda m: m.wrong)
def test_an_edit_of_the_wrong_line_makes_every_case_right(
    mistake: Mistake, tmp_path: Path
):
    text, line = mistake.text()
    for header in mistake.file.parent.glob("*.h"):
        (tmp_path / header.name).write_text(header.read_text())
    wrong = tmp_path / "wrong.c"
    wrong.write_text(text)
    folder = mistake.file.parent
    made = switchable(wrong, mistake.entry, "f64")
    assert made
    made = build_switchable(made, folder, tmp_path / "edits.so")
    trial = Trial.drawn(mistake.operator, mistake.direction, tmp_path)
    of_line = [i for i, edit in enumerate(made.edits, 1) if edit.line == line]
    fitting = trial.fitting(tmp_path / "edits.so", [0, *of_line])
    assert 0 not in fitting  # the mistake is one
    assert fitting, f"none of {len(of_line)} edits of line {line}"
    for number in fitting:
        assert made.edits[number - 1].old in text.splitlines()[line - 1]
