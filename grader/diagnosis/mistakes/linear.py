# SPDX-License-Identifier: MIT
"""Known mistakes of linear, as edits of its sum (grader/diagnosis/search)."""

from __future__ import annotations

from functools import partial

from grader.diagnosis.mistakes import formulas
from grader.diagnosis.mistakes.strides import strides_ignored
from grader.diagnosis.search import sum_mistakes

known = partial(sum_mistakes.known, "linear")

MISTAKES = (
    known(
        "accumulation_missing",
        formulas.ONE_TERM,
        *("output last ic", "output first ic", "without bias last ic"),
        *("without bias first ic", "grad_input last oc", "grad_input first oc"),
        *("grad_weight last row", "grad_bias last row"),
    ),
    formulas.bias_missing(),
    known(
        "weight_transposed",
        "the weight is read as its transpose: it is (OC, IC)",
        *("output weight oc-ic", "output weight stored ic, oc"),
        *("grad_input weight oc-ic", "grad_input weight stored ic, oc"),
    ),
    known(
        "weight_transposed_without_bias",
        "two mistakes: the weight is read as its transpose (it is (OC, IC)), and the "
        "bias is missing",
        *("without bias weight oc-ic", "without bias weight stored ic, oc"),
    ),
    known(
        "bias_averaged",
        "a sum is needed, not an average",
        "grad_bias averaged over *",
    ),
    known(
        "weight_gradient_averaged",
        "a sum over the rows is needed, not an average",
        "grad_weight averaged over *",
    ),
    known(
        "bias_first_row",
        "the bias is added to one row only: add it to every row",
        *("bias first row", "grad_bias first row", "grad_bias last row"),
    ),
    known(
        "bias_index",
        formulas.BIAS_INDEX,
        *("*bias bias oc = row", "*bias bias oc = 0", "*bias bias oc = OC - 1 - oc"),
    ),
    known(
        "weight_gradient_transposed",
        "the numbers are right, but transposed: the gradient must have the shape of "
        "the weight, (OC, IC)",
        *("grad_weight weight oc-ic", "grad_weight weight stored ic, oc"),
    ),
    known(
        "batch_ignored",
        "only some rows of the batch are used: use the rows of all leading axes",
        *("output first row", "output last row", "output row to *"),
        *("grad_* first row", "grad_* last row", "grad_* row to *"),
        *("output input row = 0", "output input row = ROW - 1"),
        *("grad_weight input row = 0", "grad_weight input row = ROW - 1"),
        *("grad_* output row = 0", "grad_* output row = ROW - 1", "grad_* all row = *"),
    ),
    strides_ignored("input", "weight", "bias"),
)
