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
ONE_CHANGE_HELPS = "one_change_helps"
WARP_WALKS_WRONG_AXIS = "warp_walks_wrong_axis"

# of lab 05's gates
ARGUMENT_MUTATED = "argument_mutated"
ARGUMENT_NOT_CHECKED = "argument_not_checked"
ARGUMENT_NOT_USED = "argument_not_used"
AUTOCAST_DTYPE_WRONG = "autocast_dtype_wrong"
AUTOGRAD_KERNEL_MISSING = "autograd_kernel_missing"
AXES_EXCHANGED = "axes_exchanged"
BATCH_AXIS_MISPLACED = "batch_axis_misplaced"
BATCH_AXIS_NOT_HANDLED = "batch_axis_not_handled"
BATCH_AXIS_OF_OTHER = "batch_axis_of_other"
DOUBLE_BACKWARD_MISSING = "double_backward_missing"
EXAMPLES_IN_OTHER_ORDER = "examples_in_other_order"
EXAMPLES_SUMMED = "examples_summed"
FACTOR_MISSING = "factor_missing"
FAKE_AXES_EXCHANGED = "fake_axes_exchanged"
FAKE_DTYPE_WRONG = "fake_dtype_wrong"
FAKE_RULE_MISSING = "fake_rule_missing"
FAKE_SIZES_FROM_OTHER_OPTION = "fake_sizes_from_other_option"
FAKE_SIZES_WRONG = "fake_sizes_wrong"
FAKE_STRIDES_WRONG = "fake_strides_wrong"
FIRST_EXAMPLE_ONLY = "first_example_only"
GRADIENT_EMPTY = "gradient_empty"
GRADIENT_OF_NO_TENSOR = "gradient_of_no_tensor"
GRADIENT_SIZES_WRONG = "gradient_sizes_wrong"
GRADIENTS_MISCOUNTED = "gradients_miscounted"
GROUPS_NOT_MULTIPLIED = "groups_not_multiplied"
JOINED_AXES_EXCHANGED = "joined_axes_exchanged"
MASK_IGNORED = "mask_ignored"
MASK_WRONG = "mask_wrong"
NONE_USED = "none_used"
OPTION_IGNORED = "option_ignored"
OPTIONS_EXCHANGED = "options_exchanged"
OTHER_TENSOR_USED = "other_tensor_used"
RESULT_ALIASES_ARGUMENT = "result_aliases_argument"
RESULT_IN_OTHER_PLACE = "result_in_other_place"
RESULT_SCALED = "result_scaled"
RESULT_SIZES_WRONG = "result_sizes_wrong"
RESULT_ZERO = "result_zero"
RESULTS_EXCHANGED = "results_exchanged"
SCHEMA_ORDER_WRONG = "schema_order_wrong"
SIGN_WRONG = "sign_wrong"
SUMMED_OVER_OTHER_AXES = "summed_over_other_axes"
TANGENT_MISSING = "tangent_missing"
TENSORS_EXCHANGED = "tensors_exchanged"
TERM_ADDED = "term_added"
TERM_MISSING = "term_missing"
TERM_SCALED = "term_scaled"
VMAP_RULE_MISSING = "vmap_rule_missing"

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
    ONE_CHANGE_HELPS: "with one small change of this line, every case is right",
    ROWS_BEHIND_THE_COUNT: "an index is read from a rulebook row without a pair: "
    "kernel position k has only count[k] pairs",
    WARP_WALKS_WRONG_AXIS: "neighbouring threads move along an axis with a stride "
    "other than 1",
}

OF_GATES = {  # of lab 05; the second table of docs/guides/mistakes.md
    ARGUMENT_MUTATED: "the operator writes to one of its arguments",
    ARGUMENT_NOT_CHECKED: "a call with a bad argument raises no exception",
    ARGUMENT_NOT_USED: "the numbers result if an optional input is None",
    AUTOCAST_DTYPE_WRONG: "under torch.autocast, a result or a gradient has a wrong "
    "dtype",
    AUTOGRAD_KERNEL_MISSING: "an operator has no kernel on the key Autograd",
    AXES_EXCHANGED: "a result has the right numbers or sizes, but its axes are in "
    "another order",
    BATCH_AXIS_MISPLACED: "`vmap` returns a wrong position for the axis of the "
    "examples",
    BATCH_AXIS_NOT_HANDLED: "under vmap, an argument still has the axis of the "
    "examples in a call that the operator refuses",
    BATCH_AXIS_OF_OTHER: "the numbers result if another axis of an input counts the "
    "examples",
    DOUBLE_BACKWARD_MISSING: "the backward operator records no graph for second "
    "derivatives",
    EXAMPLES_IN_OTHER_ORDER: "the results of the examples are in another order",
    EXAMPLES_SUMMED: "each example has the sum or the average over all examples",
    FACTOR_MISSING: "the numbers result if one tensor is 1 everywhere",
    FAKE_AXES_EXCHANGED: "`fake` gives the right sizes in another order",
    FAKE_DTYPE_WRONG: "`fake` gives another dtype than the kernel",
    FAKE_RULE_MISSING: "`fake` is missing or not registered",
    FAKE_SIZES_FROM_OTHER_OPTION: "`fake` gives sizes that result from other options",
    FAKE_SIZES_WRONG: "`fake` gives other sizes than the kernel",
    FAKE_STRIDES_WRONG: "`fake` gives other strides than the kernel",
    FIRST_EXAMPLE_ONLY: "each example has the numbers of the first example, or uses "
    "the first example of an input",
    GRADIENT_EMPTY: "a gradient that is wanted is an empty tensor",
    GRADIENT_OF_NO_TENSOR: "`backward` returns a gradient in the place of an argument "
    "that is not a tensor",
    GRADIENT_SIZES_WRONG: "a gradient has other sizes than its input",
    GRADIENTS_MISCOUNTED: "`backward` returns more or fewer values than the operator "
    "has arguments",
    GROUPS_NOT_MULTIPLIED: "the channels of all examples are joined, but groups is "
    "not multiplied by the number of examples",
    JOINED_AXES_EXCHANGED: "an axis that joins the examples with another axis is "
    "split in the wrong order",
    MASK_IGNORED: "the backward operator computes a gradient that output_mask does "
    "not want",
    MASK_WRONG: "output_mask does not fit the gradients that are needed, or a wanted "
    "gradient is empty",
    NONE_USED: "a line computes with a variable that is None",
    OPTION_IGNORED: "the numbers result if an option has its default value",
    OPTIONS_EXCHANGED: "the numbers of two options, or the two numbers of one option, "
    "are exchanged",
    OTHER_TENSOR_USED: "the numbers result if one tensor stands in the place of "
    "another tensor",
    RESULT_ALIASES_ARGUMENT: "a result shares memory with an argument",
    RESULT_IN_OTHER_PLACE: "a result has the numbers of another result",
    RESULT_SCALED: "every element of a result is a constant times the expected number",
    RESULT_SIZES_WRONG: "a result has wrong sizes",
    RESULT_ZERO: "every element of a result is 0",
    RESULTS_EXCHANGED: "two results have exchanged their numbers",
    SCHEMA_ORDER_WRONG: "the arguments have another order in the schema than in "
    "PyTorch",
    SIGN_WRONG: "a result, or one tensor of the call, has the wrong sign",
    SUMMED_OVER_OTHER_AXES: "a sum is taken over other axes",
    TANGENT_MISSING: "a call with tangents returns a result without a tangent",
    TENSORS_EXCHANGED: "the numbers result if two tensors are exchanged",
    TERM_ADDED: "a result is too large or too small by one tensor of the call",
    TERM_MISSING: "the numbers result if one tensor is 0: a term is missing",
    TERM_SCALED: "the numbers result if one tensor is multiplied or divided by 2",
    VMAP_RULE_MISSING: "an operator is called under vmap and has no batching rule",
}
