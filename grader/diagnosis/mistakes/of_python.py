# SPDX-License-Identifier: MIT
"""Known mistakes of lab 01 without numbers: words and shapes show them.

Their phrases are compared with the worker's messages about a call
(grader/runner/worker).
"""

from __future__ import annotations

from grader.diagnosis.mistakes.mistake import Mistake

CHANGED_IN_PLACE = Mistake(
    "changed_in_place",
    "an operation in place (x += y, x.mul_(y), out=x) changes numbers that are still "
    "needed: compute a new tensor",
)
CUT_FROM_GRAPH = Mistake(
    "cut_from_graph",
    "autograd does not see that the result depends on the inputs",
)
GRADIENTS_MISCOUNTED = Mistake(
    "gradients_miscounted",
    "backward must return one value for each argument of forward after ctx",
)
NEEDS_IGNORED = Mistake(
    "needs_input_grad_ignored",
    "ctx.needs_input_grad says which gradients are wanted: compute only these "
    "gradients",
)
REORDERED = Mistake(
    "gradients_swapped",
    "backward must return the gradients in the order of forward's arguments",
)
OUTPUT_SAVED = Mistake(
    "output_saved",
    "backward cannot compute a gradient without the tensor that forward did not save",
)
FOLD_ARGUMENTS = Mistake(
    "fold_arguments_swapped",
    "arguments of fold or unfold are exchanged: pass them by name",
)
FOLD_SIZE = Mistake(
    "fold_size_of_output",
    "fold adds the columns into an image: output_size must be (IH, IW)",
)
NOT_CROPPED = Mistake(
    "gradient_not_cropped",
    "this gradient has the size of the padded image: crop the padding from it",
)


def _miscounted(how: str) -> Mistake:
    return Mistake("windows_miscounted", f"the number of windows is counted {how}")


COUNTED = {  # how windows are counted wrongly
    "last": _miscounted("without the last window: where is the + 1?"),
    "padding": _miscounted("without the padding"),
    "one side": _miscounted(
        "with the padding of one side only: an axis has padding on two sides"
    ),
    "dilation": _miscounted("without the dilation"),
    "stride": _miscounted("without the stride"),
    "up": _miscounted(
        "with a quotient that is rounded up: an incomplete window does not count"
    ),
    "span": _miscounted("with a kernel that is one element too short"),
}

PHRASES = (  # of a sentence that proves the mistake
    ("inputs are read-only: make a new tensor", CHANGED_IN_PLACE),
    ("leaf Variable that requires grad is being used in an in-pl", CHANGED_IN_PLACE),
    ("has been modified by an inplace operation", CHANGED_IN_PLACE),
    ("the result has no gradient function", CUT_FROM_GRAPH),
    (", but forward takes ", GRADIENTS_MISCOUNTED),
    ("which is not a tensor in this call: return None", NEEDS_IGNORED),
    ("ctx.needs_input_grad says it is not wanted", NEEDS_IGNORED),
    ("forward saved its output, but not ", OUTPUT_SAVED),
    ("fold got the size of the output", FOLD_SIZE),
    (", but the case has ", FOLD_ARGUMENTS),
)

MISTAKES = (
    *(CHANGED_IN_PLACE, CUT_FROM_GRAPH, GRADIENTS_MISCOUNTED, NEEDS_IGNORED, REORDERED),
    *(OUTPUT_SAVED, FOLD_ARGUMENTS, FOLD_SIZE, NOT_CROPPED, *COUNTED.values()),
)
