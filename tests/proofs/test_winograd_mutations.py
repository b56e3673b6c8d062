# SPDX-License-Identifier: MIT
"""Does the grader see a small mistake in Winograd's sums, whose tolerance is wider?

tests/proofs/mutations draws from labs 01 and 02, which compute direct sums. Here the
rungs of lab 03 are changed that are allowed SLACK times as much
(grader/checks/values/precision.py): entries of the transforms by 0.1 %, and, in the
headers that they share, the edges of blocks, tiles and slabs. Only the cases that the
rung computes itself are asked, only their values, in release mode.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from grader import operators
from grader.checks.check_result import CheckResult
from grader.checks.subject import Subject
from grader.checks.values import forward, gradient
from grader.course.rungs import ROOT, WINOGRAD
from grader.operators import Case
from grader.verdicts import Verdict
from tests import put_rung
from tests.proofs.mutations.run import build

FOLDER = "labs/03_im2col_cpu/conv2d"
SEED = 5
AS_IS = ("as is", "", "")
# no filters fit: they are made anew for each slab, at every width of a vector
NONE_KEPT = ("KEPT = 1 << 20", "KEPT = 1")
# of each rung: what is changed, what stands there (once, in the rung or in one of its
# ladder's headers), and what then stands there
MUTATIONS: dict[str, list[tuple[str, ...]]] = {
    "09_winograd_2x2": [
        AS_IS,
        ("an input's entry", "x[1] + x[2];\n", "x[1] + (real)1.001 * x[2];\n"),
        ("a filter's entry", "(real)0.5 * (even + x", "(real)0.5005 * (even + x"),
        ("an output's entry", "x[2] - x[3];", "x[2] - (real)1.001 * x[3];"),
        ("an image's last tiles", "r % t->TH;\n", "0;\n"),
        ("the next image", "r / t->TH * IC * IH", "0 * IC * IH"),
        (
            "rows of the tile above",
            "t->READ - t->STEP : 0",
            "t->READ - t->STEP + 1 : 0",
        ),
    ],
    "10_winograd_4x4": [
        AS_IS,
        (
            "an input's entry",
            "even = x[4] - 4 * x[2]",
            "even = x[4] - (real)4.004 * x[2]",
        ),
        ("an input's last", "y[5][i] = x[5]", "y[5][i] = (real)1.001 * x[5]"),
        ("a filter's entry", "(real)0.25 * x[0]", "(real)0.25025 * x[0]"),
        ("an output's last", "[R - 1][i] += x[5]", "[R - 1][i] += (real)1.001 * x[5]"),
        ("the last row of an image", "ih >= 0 && ih < IH", "ih >= 0 && ih < IH - 1"),
        ("a tile left over", "rows == 1)", "rows == 7)"),
        ("two tiles left over", "rows == 2)", "rows == 7)"),
        ("the channels of a second chunk", "k > 0, t->M", "0, t->M"),
        ("a tile beyond the edge", "least(t->TILE, OH - oh)", "t->TILE"),
        ("as is, but no filters are kept", *NONE_KEPT),
        ("filters of the next slab", "r0 == 0 || !keep", "r0 == 0", *NONE_KEPT),
    ],
    "12_winograd_weight": [
        AS_IS,
        ("an input's entry", "    4,  0, -5,", "    4,  0, -5.005,"),
        (
            "a gradient's entry",
            "1,  2, 4,  8,\n    1, -2",
            "1,  2, 4,  8.008,\n    1, -2",
        ),
        (
            "a filter's entry",
            "0,       -4. / 24,  4. / 24, 2.",
            "0, -4.004 / 24, 4. / 24, 2.",
        ),
        ("only the last slab", "r0 > 0, u)", "0, u)"),
        ("beyond the last row", "if (oh + i < OH)", "if (oh + i <= OH)"),
    ],
    "15_winograd_strided": [
        AS_IS,
        ("an input's entry", "    2, 0, -1, 0, -2,", "    2, 0, -1.001, 0, -2,"),
        ("a filter's entry", "-1. / 6, 0,  1. / 6,", "-1. / 6, 0, 1.001 / 6,"),
        ("the odd taps", "     0,      1,  0,", "     0, 1.001,  0,"),
        (
            "an output's entry",
            "0, 1, -1, 8, 1,  0, 0, 0, 1,",
            "0, 1, -1, 8.008, 1, 0, 0, 0, 1,",
        ),
        (
            "a plane of odd inputs",
            "least(plane % POINTS, EVEN)",
            "least(plane % POINTS, 4)",
        ),
        (
            "grad_input's entry",
            "0, 1, -1, 8, 1,  0, 0, 0, 0,",
            "0, 1, -1, 8, 1.001, 0, 0, 0, 0,",
        ),
        (
            "an input of grad_input",
            "    2, -1, -2,  1, 0,",
            "    2.002, -1, -2,  1, 0,",
        ),
        ("a tile further on", "t->STEP * t->CP + k", "4 * t->CP + k"),
        ("as is, but no filters are kept", *NONE_KEPT),
    ],
    "16_winograd_strided_weight": [
        AS_IS,
        (
            "a gradient's entry",
            "    1,  2, 4,  8,\n    0",
            "    1,  2, 4,  8.008,\n    0",
        ),
        (
            "a filter's entry",
            "0,      -3. / 6,  1. / 6, 2.",
            "0, -3. / 6, 1.001 / 6, 2.",
        ),
        ("sums of the plane before", "add || !first", "add"),
        ("only the last slab", "r0 > 0, u)", "0, u)"),
    ],
}
# what a rung has of backward; those of grad_weight have no forward
GRADIENTS = {
    "12_winograd_weight": ("weight",),
    "15_winograd_strided": ("input",),
    "16_winograd_strided_weight": ("weight",),
}
ASKED = [
    (rung, what, edits) for rung, all_of in MUTATIONS.items() for what, *edits in all_of
]


def fits(rung: str, case: Case) -> bool:
    """Whether a rung computes a case itself."""
    options = operators.get("conv2d").signature.resolve(case.options)
    moves = [options[name] for name in ("stride", "dilation", "groups")]
    small = max(options["padding"]) < 3
    kernel = case.sizes["KH"], case.sizes["KW"]
    stride = (2, 2) if "strided" in rung else (1, 1)
    return kernel == (3, 3) and moves == [stride, (1, 1), 1] and small


def changed(rung: str, edits: list[str], folder: Path) -> Path:
    """A copy of the rung and its ladder's headers, with the edits in it."""
    file = f"{FOLDER}/{rung}.c"
    copy = put_rung(folder, file, (ROOT / file).read_text())
    for old, new in zip(edits[::2], edits[1::2]):
        texts = {path: path.read_text() for path in (copy, *copy.parent.glob("*.h"))}
        assert not old or sum(text.count(old) for text in texts.values()) == 1
        for path, text in texts.items():
            path.write_text(text.replace(old, new) if old else text)
    return copy


def check(rung: str, copy: Path) -> CheckResult:
    """Built, then what the grader says of the values."""
    built = build(copy, f"{FOLDER}/{rung}.c")
    assert not isinstance(built, str), built
    operator = operators.get("conv2d")
    cases = [case for case in operator.cases(SEED, drawn=0) if fits(rung, case)]
    subject = Subject(operator, libraries={"f32": (built["f32"], built["f32"])})
    subject.numerics = WINOGRAD
    try:
        gradients = GRADIENTS.get(rung, ())
        if "weight" not in gradients:
            result = forward.check(subject, cases, "f32", SEED)
            if not gradients or result.verdict is not Verdict.PASS:
                return result
        if "input" in gradients:  # at stride 2 with padding 1 alone
            cases = [
                case for case in cases if case.options.get("padding") in (1, (1, 1))
            ]
        wanted = [dataclasses.replace(case, wanted=gradients) for case in cases]
        return gradient.check(subject, wanted, "f32", SEED)
    finally:
        subject.close()


@pytest.mark.parametrize(
    ("rung", "what", "edits"),
    ASKED,
    ids=[f"{rung[:2]} {what}".replace(" ", "_") for rung, what, _ in ASKED],
)
@pytest.mark.usefixtures("tools")
def test_a_small_mistake_is_caught(
    rung: str,
    what: str,
    edits: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DTYPES", "f32")  # rung.mk: half the time
    result = check(rung, changed(rung, edits, tmp_path))
    right = what.startswith("as is")
    assert (result.verdict is Verdict.PASS) == right, result.message
