# SPDX-License-Identifier: MIT
"""Lab 05: mistakes that the message of a gate tells."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader import operators
from grader.checks import named_mistakes as names
from grader.checks.check_result import CheckResult
from grader.checks.gates import told_names
from grader.verdicts import Verdict
from tests.grader.checks.gates.test_explained import call_of, job_of

UNFOLD = "input, kernel_size, dilation, padding, stride"
MESSAGES = {  # operator, gate and job; the message; the mistake and its sentence
    "too few gradients": (
        ("unfold", "", ""),
        "function unfoldBackward returned an incorrect number of gradients "
        "(expected 5, got 4)",
        names.GRADIENTS_MISCOUNTED,
        f"`backward` returns 4 values for 5 arguments: {UNFOLD}",
    ),
    "too few gradients of values": (
        ("unfold", "", ""),
        "backward returned 4 gradients, but forward takes 5 arguments. Return one",
        names.GRADIENTS_MISCOUNTED,
        f"`backward` returns 4 values for 5 arguments: {UNFOLD}",
    ),
    "no fake rule in backward": (
        ("gelu", "compile", ""),
        "Unsupported: Backend compiler exception Explanation: Backend compiler "
        "`inductor` failed with convlab.gelu_backward.default. Adding a graph break.",
        names.FAKE_RULE_MISSING,
        "convlab::gelu_backward has no rule for fake tensors: `fake` is missing or not "
        "registered",
    ),
    "no fake rule": (
        ("gelu", "compile", ""),
        "Unsupported: Operator does not support running with fake tensors Developer "
        "debug context: unsupported operator: convlab.gelu.default",
        names.FAKE_RULE_MISSING,
        "convlab::gelu has no rule for fake tensors: `fake` is missing or not "
        "registered",
    ),
    "a gradient of no tensor": (
        ("layer_norm", "", ""),
        "function layer_normBackward returned a gradient different than None at "
        "position 2, but the corresponding forward input was not a Variable",
        names.GRADIENT_OF_NO_TENSOR,
        "`backward` returns a gradient in the place of 'normalized_shape'. This "
        "argument is not a tensor here. The places are input, normalized_shape, "
        "weight, bias, eps",
    ),
    "an empty gradient": (
        ("add", "", ""),
        "Function addBackward returned an invalid gradient at index 1 - got [0] but "
        "expected shape compatible with [3, 1]",
        names.GRADIENT_EMPTY,
        "the gradient of 'other' is an empty tensor, but it is wanted. Which entry of "
        "output_mask decides whether it is computed?",
    ),
    "one argument with the axis of the examples": (
        ("lltm", "vmap", "small, in_dims={'bias': 0}"),
        "RuntimeError: lltm: 'bias' must be (6) for these arguments, got (3, 6)",
        names.BATCH_AXIS_NOT_HANDLED,
        "'bias' (3, 6) has the axis of the 3 examples when the operator is called",
    ),
    "two arguments, one with the axis of the examples": (
        ("matmul", "vmap", "small, in_dims={'input': 0}"),
        "matmul: 'input' (3, 3, 4) and 'other' (4, 5) differ in their batch axes",
        names.BATCH_AXIS_NOT_HANDLED,
        "'input' (3, 3, 4) has the axis of the 3 examples, but 'other' (4, 5) has no "
        "such axis when the operator is called",
    ),
    "groups": (
        ("conv2d", "vmap", "small_groups, in_dims={'weight': 0}"),
        "conv2d: 'weight' expects 2 input channels per group, 'input' has 12 channels "
        "in 2 groups (is groups wrong?)",
        names.GROUPS_NOT_MULTIPLIED,
        "'input' has 12 channels: 4 channels for each of 3 examples. But groups is "
        "still 2, expected 2 * 3",
    ),
    "two options exchanged": (
        ("unfold", "export", ""),
        "unfold: 'stride' or others do not fit: kernel 2, stride 1, padding 1, "
        "dilation 0",
        names.OPTIONS_EXCHANGED,
        "padding arrives as 1, but the call has padding [0, 0] and dilation [1, 1]. "
        "Does the number of dilation stand in the place of padding?",
    ),
    "fake sizes in another order": (
        ("subm_conv3d", "opcheck", ""),
        "(result 1: the fake kernel gave sizes [9, 27, 2], but the kernel gave [27, 9, "
        "2])",
        names.FAKE_AXES_EXCHANGED,
        "`fake` gives result 1 the sizes [9, 27, 2], the kernel [27, 9, 2]: the same "
        "sizes in another order",
    ),
    "fake sizes of other options": (
        ("conv2d", "opcheck", "small_all_options"),
        "(the fake kernel gave sizes [1, 2, 3, 4], but the kernel gave [1, 2, 3, 6])",
        names.FAKE_SIZES_FROM_OTHER_OPTION,
        "`fake` gives the result the sizes [1, 2, 3, 4], the kernel [1, 2, 3, 6]. The "
        "sizes [1, 2, 3, 4] result if stride and dilation are exchanged",
    ),
    "fake sizes in a compiled graph": (
        ("subm_conv3d", "compile", ""),
        "expected size 27==9, stride 18==54 at dim=0; expected size 9==27, stride 2==2 "
        "at dim=1 Error in op: torch.ops.convlab.subm_conv3d.default",
        names.FAKE_AXES_EXCHANGED,
        "in a result of subm_conv3d, axis 0 has the size 27, axis 1 has the size 9, "
        "but `fake` gives 9 and 27",
    ),
    "sizes of a result": (
        ("depthwise_conv2d", "", "multiplier"),
        "depthwise_conv2d: 'grad_bias' must be (6) for these arguments, got (2)",
        names.RESULT_SIZES_WRONG,
        "'grad_bias' is made with the sizes (2), expected (6)",
    ),
    "the order of the schema": (
        ("conv2d", "", ""),
        "The schema of conv2d has the order input, dilation, padding, but PyTorch's "
        "order is input, padding, dilation. The call raises 'x'",
        names.SCHEMA_ORDER_WRONG,
        "the arguments of conv2d have the order input, dilation, padding in the "
        "schema, but input, padding, dilation in PyTorch",
    ),
    "None": (
        ("lltm", "", ""),
        "TypeError: unsupported operand type(s) for *: 'NoneType' and 'Tensor'; "
        "`grad_new_h` is None in `gradients`",
        names.NONE_USED,
        "`gradients` computes with `grad_new_h`, which is None in this call",
    ),
    "no vmap": (
        ("gelu", "", ""),
        "convlab::gelu_backward has no batching rule: torch.vmap would call it",
        names.VMAP_RULE_MISSING,
        "convlab::gelu_backward has no batching rule: `vmap` is missing or not "
        "registered",
    ),
}


@pytest.mark.parametrize("what", MESSAGES)
def test_a_message_is_named(what):
    (operator, gate, case), message, name, sentence = MESSAGES[what]
    call = call_of(operator, gate, job_of(operator, gate, case)) if gate else None
    found = told_names.named(message, operators.get(operator), call)
    assert found == (name, sentence)


def test_another_message_has_no_name():
    call = call_of("conv2d", "vmap", job_of("conv2d", "vmap"))
    message = "conv2d: 'weight' expects 2 input channels, 'input' has 5"
    assert told_names.named(message, operators.get("conv2d"), call) is None


def test_a_crash_in_the_check_of_values_says_which_sizes_these_are():
    message = "multiplier: RuntimeError: depthwise_conv2d: 'grad_bias' must be (6) for "
    crash = CheckResult(
        "gradient", "backward", Verdict.CRASH, message=f"{message}these, got (2)"
    )
    found = told_names.with_name(crash, operators.get("depthwise_conv2d"))
    assert found.mistake == names.RESULT_SIZES_WRONG
    assert found.diagnosis.startswith("'grad_bias' is made with the sizes (2)")
    wrong = replace(crash, verdict=Verdict.WRONG_VALUE)
    assert told_names.with_name(wrong, operators.get("depthwise_conv2d")) is wrong
