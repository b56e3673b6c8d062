# SPDX-License-Identifier: MIT
"""Known mistakes of windows over an image, as edits of a sum: of conv2d,
depthwise_conv2d and unfold.
"""

from __future__ import annotations

from grader.diagnosis.mistakes.mistake import Mistake
from grader.diagnosis.search.sum_mistakes import known


def ignored(operator: str) -> tuple[Mistake, ...]:
    """What all of these operators get wrong."""
    return (
        known(
            operator,
            "padding_ignored",
            "the padding is missing: where does the first window begin?",
            "* input -padding=0 *",
        ),
        known(
            operator,
            "padding_not_zero",
            "the padding is not zero: it holds the image's edge, mirror image, other "
            "side, or a neighbouring row",
            "* outside *",
        ),
        known(
            operator,
            "stride_ignored",
            "windows move by 1: they must move by the stride",
            "* input stride=1 *",
        ),
        known(
            operator,
            "dilation_ignored",
            "kernel positions are 1 apart: they must be dilation apart",
            "* input dilation=1 *",
        ),
        known(
            operator,
            "border_taken_for_padding",
            "a row or column at the border is treated as padding: all i with 0 <= i < "
            "I are inside",
            "* hidden ?,? *",
        ),
        known(
            operator,
            "stride_not_tested",
            "a pixel gets gradients from windows that do not read it: skip distances "
            "that are not multiples of the stride",
            "grad_input rests",
        ),
    )


HW_SWAPPED = (
    "height and width are exchanged somewhere: h comes first in every pair and every "
    "shape"
)
