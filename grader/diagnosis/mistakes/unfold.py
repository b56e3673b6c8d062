# SPDX-License-Identifier: MIT
"""Known mistakes of unfold, as edits of its sum (grader/diagnosis/search)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import torch

from grader.diagnosis.mistakes import formulas, shared_by_images
from grader.diagnosis.mistakes.mistake import (
    PAST_THE_END,
    Answers,
    Formula,
    Mistake,
    Setting,
)
from grader.diagnosis.mistakes.strides import strides_ignored
from grader.diagnosis.search import sum_mistakes
from grader.diagnosis.search.forms import FORMS

FORM = FORMS["unfold"]
known = partial(sum_mistakes.known, "unfold")


def _padding_not_written(s: Setting) -> Answers:
    """Only what lies inside of the image is copied."""
    ones = replace(FORM.products, powers={"input": 0})
    inside = sum_mistakes.answer(FORM, FORM.products, ones, "output", "bias", s)
    output = s.truth["output"]
    return {"output": torch.where(inside > 0, output, formulas.UNWRITTEN)}


def _miscounted(name: str) -> Mistake:
    """Too many windows are written past the end."""

    def counted(formula: Formula, axes: str) -> Formula:
        def ended(s: Setting) -> Answers | None:
            ranges = sum_mistakes.numbers_of(FORM, s).ranges
            count = 1
            for a in "hw":
                count *= ranges[f"o{a} without {name}" if a in axes else f"o{a}"]
            past = count > ranges["oh"] * ranges["ow"]
            return {"output": PAST_THE_END} if past else formula(s)

        return formulas.forward_only(ended)

    sentence = f"the windows are counted without the {name}, so their number is wrong"
    made = [
        counted(formula, axes)
        for axes in ("hw", "h", "w")
        for formula in known("", "", f"output counted without {name} {axes}").formulas
    ]
    return Mistake("windows_miscounted", sentence, tuple(made))


MISTAKES = (
    known(
        "hw_swapped",
        shared_by_images.HW_SWAPPED,
        *("* input options of *", "* input ih-iw", "* input stored n, ic, iw, ih"),
        "* kernel kh-kw",
    ),
    known(
        "order_swapped",
        "the axes are in the wrong order. Rows are (ic, kh, kw), columns are (oh, "
        "ow), and the last index changes fastest",
        "* order *",
    ),
    *shared_by_images.ignored("unfold"),
    Mistake(
        "padding_not_written",
        "the elements of the padding are not written. Write these zeros too: before "
        "you write an output, its contents are undefined",
        (formulas.forward_only(_padding_not_written),),
    ),
    *map(_miscounted, ("dilation", "stride", "padding")),
    known(
        "overlap_overwritten",
        "where windows overlap, only one of them counts: a pixel gets the sum over "
        "all windows that read it",
        "grad_input kept *",
    ),
    strides_ignored("input"),
)
