# SPDX-License-Identifier: MIT
"""Names mistakes that a message proves alone: no formula is compared.

The name of a mistake says what was seen, so it is true for every cause.
"""

from __future__ import annotations

BARRIER_MISSING = "barrier_missing"
BLOCKS_SHARE_AN_ELEMENT = "blocks_share_an_element"
BOUNDS_CHECK_MISSING = "bounds_check_missing"
DIGITS_CANCEL = "digits_cancel"
DIGITS_OF_DOUBLE_LOST = "digits_of_double_lost"
INPUT_NOT_GIVEN = "input_not_given"
ROWS_BEHIND_THE_COUNT = "rows_behind_the_count"
GRADIENT_NOT_WANTED = "gradient_not_wanted"
WARP_WALKS_WRONG_AXIS = "warp_walks_wrong_axis"

SENTENCES = {  # docs/guides/mistakes.md
    BARRIER_MISSING: "threads of a block write and read one word of shared memory, "
    "without a barrier between the two",
    BLOCKS_SHARE_AN_ELEMENT: "two blocks write one element of global memory",
    BOUNDS_CHECK_MISSING: "a thread past the last row or element writes or reads "
    "memory",
    DIGITS_CANCEL: "a difference of large numbers loses its digits",
    DIGITS_OF_DOUBLE_LOST: "results in double are only as exact as float, or as a "
    "constant with few digits",
    INPUT_NOT_GIVEN: "a line uses an optional input that is NULL",
    GRADIENT_NOT_WANTED: "a line uses a gradient that is NULL because it is not wanted",
    ROWS_BEHIND_THE_COUNT: "an index is read from a rulebook row without a pair: "
    "kernel position k has only count[k] pairs",
    WARP_WALKS_WRONG_AXIS: "neighbouring threads move along an axis with a stride "
    "other than 1",
}
