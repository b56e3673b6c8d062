# SPDX-License-Identifier: MIT
"""Known mistakes of matmul, as edits of its sum (grader/diagnosis/search)."""

from __future__ import annotations

from functools import partial

from grader.diagnosis.mistakes import formulas
from grader.diagnosis.mistakes.strides import strides_ignored
from grader.diagnosis.search import sum_mistakes

known = partial(sum_mistakes.known, "matmul")

MISTAKES = (
    formulas.gradients_swapped(formulas.exchanged("grad_input", "grad_other")),
    known(
        "operand_transposed",
        "a matrix is transposed by mistake, or must be transposed: compare the shapes "
        "in the product with the result's shape",
        *("* input m-k", "* input stored b, k, m", "* other k-n", "* output m-n"),
        *("* other stored b, n, k", "* output stored b, n, m", "output both *"),
    ),
    known(
        "batch_ignored",
        "only some matrices of the batch are used",
        *("* first b", "* last b", "* b to first axis", "* all b = *"),
        *("output input b = 0", "output input b = B - 1", "output other b = 0"),
        *("output other b = B - 1", "grad_* output b = 0", "grad_* output b = B - 1"),
        *("grad_input other b = 0", "grad_input other b = B - 1"),
        *("grad_other input b = 0", "grad_other input b = B - 1"),
    ),
    known(
        "accumulation_missing",
        formulas.ONE_TERM,
        *("output last k", "grad_input last n", "grad_other last m"),
        *("output first k", "grad_input first n", "grad_other first m"),
    ),
    known(
        "last_term_forgotten",
        "every sum ends before its last terms",
        *("output tail input k", "grad_input tail output n"),
        "grad_other tail output m",
    ),
    known(
        "last_row_or_column_forgotten",
        "the last rows or columns are missing, or all rows or columns that do not "
        "fill a tile",
        *("output tail output [mnb]*", "grad_input tail input [mkb]*"),
        "grad_other tail other [knb]*",
    ),
    strides_ignored("input", "other"),
)
