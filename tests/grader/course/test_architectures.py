# SPDX-License-Identifier: MIT
"""What lab.toml says of cards: architectures for nvcc, and rungs that need a GPU."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from grader.checks.not_run import needs_gpu
from grader.course import candidates, rungs, tasks, uses
from grader.course.rungs import Task
from grader.errors import GraderError
from grader.verdicts import Verdict
from tests.grader.checks.cuda.gelu_ladder import RIGHT


def lab_of(folder: Path, words: str, suffix: str = ".cu") -> list[Task]:
    """The tasks of a lab with the rungs 00 and 01, and these words for 01."""
    made = folder / "labs" / "04_cuda_kernels" / "lab.toml"
    (made.parent / "gelu").mkdir(parents=True)
    for name in ("00_plain", "01_card"):
        (made.parent / "gelu" / f"{name}{suffix}").write_text(RIGHT)
    language = {".cu": "cuda", ".c": "c"}[suffix]
    text = f'language = "{language}"\n[ladder.gelu]\npoints = 4\n'
    made.write_text(f'{text}[rung."gelu/01_card"]\n{words}\n')
    return tasks._lab(made)


@pytest.mark.parametrize(
    ("words", "suffix", "sentence"),
    [
        (
            'architectures = "sm_80"',
            ".cu",
            "'architectures' is 'sm_80', expected a list",
        ),
        (
            "architectures = []",
            ".cu",
            "'architectures' is [], expected a list of names",
        ),
        ('architectures = ["80"]', ".cu", "'architectures' is ['80'], expected a list"),
        ("architectures = [80]", ".cu", "'architectures' is [80], expected a list"),
        ('architectures = ["sm_80,"]', ".cu", "expected a list of names like"),
        (
            'needs = "h200"',
            ".cu",
            "'needs' is 'h200', expected 'gpu', or no line with 'needs'",
        ),
        (
            "needs = true",
            ".cu",
            "'needs' is True, expected 'gpu', or no line with 'needs'",
        ),
        ('needs = "gpu"', ".c", "'needs' is 'gpu', but only files in CUDA may have"),
    ],
)
def test_strange_words_about_cards_are_refused(
    tmp_path, monkeypatch, words, suffix, sentence
):
    monkeypatch.setattr(rungs, "ROOT", tmp_path)
    with pytest.raises(GraderError, match=re.escape(sentence)) as raised:
        lab_of(tmp_path, words, suffix)
    place = "labs/04_cuda_kernels/lab.toml: rung 'gelu/01_card': "
    assert str(raised.value).startswith(place)


def test_without_a_word_a_rung_is_for_three_architectures(tmp_path, monkeypatch):
    monkeypatch.setattr(rungs, "ROOT", tmp_path)
    (task,) = lab_of(tmp_path, 'architectures = ["sm_90a"]')
    assert [rung.architectures for rung in task.rungs] == [
        ("sm_75", "sm_80", "sm_90"),
        ("sm_90a",),
    ]


def test_a_rung_for_a_card_serves_no_other(tmp_path, monkeypatch):
    monkeypatch.setattr(rungs, "ROOT", tmp_path)
    (task,) = lab_of(tmp_path, 'needs = "gpu"')
    plain, card = task.rungs
    above = replace(plain, file=plain.file.with_name("02_above.cu"))
    by_id = {task.id: replace(task, rungs=(plain, card, above))}
    lower = uses.Use("lower", "", "here")
    assert candidates.candidates(above, lower, by_id) == [plain]
    with pytest.raises(GraderError, match="01_card' needs a GPU, but this rung does"):
        candidates.candidates(above, uses.Use("tiles", card.id, "here"), by_id)


def test_a_starter_for_a_card_is_not_written_yet(tmp_path, monkeypatch):
    monkeypatch.setattr(rungs, "ROOT", tmp_path)
    (task,) = lab_of(tmp_path, 'needs = "gpu"')
    rung = task.rungs[1]
    text = (
        "status_t gelu_forward(ctx_t *ctx)\n{\n"
        "    return STATUS_NOT_IMPLEMENTED;\n}\n"
        "status_t gelu_backward(ctx_t *ctx)\n{\n"
        "    // STARTER return STATUS_NOT_IMPLEMENTED;\n    return STATUS_OK;\n}\n"
    )
    rung.file.write_text(text)
    verdicts = [check.verdict for check in needs_gpu(rung, Verdict.PASS)]
    assert verdicts == [Verdict.NOT_IMPLEMENTED, Verdict.PENDING_GPU]
    rung.file.write_text(text.partition("status_t gelu_backward")[0])
    (only,) = needs_gpu(rung, Verdict.PASS)
    assert only.direction == "forward"
