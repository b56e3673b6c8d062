# SPDX-License-Identifier: MIT
"""Names mistakes that the message of a failed check of lab 05 tells.

A rule reads the sizes and numbers in a message and compares them with the call. Its
sentence repeats only what it has compared.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from grader.checks import named_mistakes as names
from grader.checks.check_result import CheckResult
from grader.checks.gates import sizes
from grader.checks.gates.call_again import AgainCall, of_case
from grader.checks.gates.sizes import SIZES, Named, Rule, whole_numbers
from grader.operators import Operator
from grader.verdicts import Verdict

PLAIN = (  # what a message says, the mistake, and a sentence with its groups
    (
        r"(convlab::\w+) has no batching rule",
        names.VMAP_RULE_MISSING,
        "{0} has no batching rule: `vmap` is missing or not registered",
    ),
    (
        r"(?:unsupported operator: |failed with )convlab\.(\w+)\.default\b",
        names.FAKE_RULE_MISSING,
        "convlab::{0} has no rule for fake tensors: `fake` is missing or not "
        "registered",
    ),
    (
        r"(convlab::\w+) has no kernel on the key Autograd",
        names.AUTOGRAD_KERNEL_MISSING,
        "{0} has no kernel on the key Autograd, which `register` adds",
    ),
    (
        r"cannot be differentiated again: (convlab::\w+)",
        names.DOUBLE_BACKWARD_MISSING,
        "{0} records no graph for second derivatives",
    ),
    (
        r"forward-mode AD gives no tangent and no error",
        names.TANGENT_MISSING,
        "the result of a call with tangents has no tangent",
    ),
    (
        r"under autocast the (result|gradient) of (?:a )?(\S+) inputs? is (\S+), "
        r"expected (torch\.\w+)",
        names.AUTOCAST_DTYPE_WRONG,
        "with {1} inputs, the dtype of the {0} is {2}, not {3}",
    ),
    (
        r"computes (grad_\w+), which is not wanted",
        names.MASK_IGNORED,
        "the backward operator computes {0} although its entry of output_mask is false",
    ),
    (
        r"output_mask=(\[[^]]*\]) does not compute (grad_\w+)",
        names.MASK_WRONG,
        "the entry of {1} in output_mask={0} is true, but its result is empty",
    ),
    (
        r"only the gradient of '(\w+)' is needed, the rule calls \w+ with "
        r"output_mask=(\[[^]]*\])",
        names.MASK_WRONG,
        "only the gradient of '{0}' is needed, but the mask is {1}",
    ),
    (
        r"(\S+)(?: for fake tensors \(torch\.compile\))? accepts (.*), which PyTorch "
        "refuses",
        names.ARGUMENT_NOT_CHECKED,
        "no check refuses {1}",
    ),
    (
        r"Argument (\w+) is not defined as mutable but was mutated",
        names.ARGUMENT_MUTATED,
        "the operator writes to its argument '{0}'",
    ),
    (
        r"Argument (\w+) is not defined to alias output but was aliasing",
        names.RESULT_ALIASES_ARGUMENT,
        "a result shares memory with the argument '{0}'",
    ),
    (
        r"[Tt]he schema of (\w+) has the order ([\w, ]*), but PyTorch's order is "
        r"([\w, ]*)",
        names.SCHEMA_ORDER_WRONG,
        "the arguments of {0} have the order {1} in the schema, but {2} in PyTorch",
    ),
    (
        r"`(\w+)` is None in `(\w+)`",
        names.NONE_USED,
        "`{1}` computes with `{0}`, which is None in this call",
    ),
)


def named(
    message: str, operator: Operator, call: AgainCall | None = None
) -> Named | None:
    """The mistake that a message tells, and a sentence; None if it tells none."""
    for rule in RULES:
        if found := rule(message, operator, call):
            return found
    return None


def with_name(result: CheckResult, operator: Operator) -> CheckResult:
    """The result of a check of values, with the mistake that its message tells."""
    told = (Verdict.CRASH, Verdict.WRONG_CONTRACT)
    if result.mistake or result.diagnosis or result.verdict not in told:
        return result
    name, _, message = result.message.partition(": ")
    cases = (c for c in operator.cases(0) if c.name == name)
    call = next((of_case(operator, case) for case in cases), None)
    mistake, sentence = named(message, operator, call) or (None, None)
    return replace(result, mistake=mistake, diagnosis=sentence)


def _plain(message: str, _: Operator, __: AgainCall | None) -> Named | None:
    """The message alone tells it."""
    for pattern, name, sentence in PLAIN:
        if found := re.search(pattern, message):
            return name, sentence.format(*found.groups())
    return None


# ---- the number and the places of gradients ------------------------------------------


def _count(message: str, operator: Operator, _: AgainCall | None) -> Named | None:
    """Too few or too many gradients."""
    found = re.search(
        rf"{operator.name}Backward returned an incorrect number of gradients "
        r"\(expected (?P<due>\d+), got (?P<got>\d+)\)"
        r"|backward returned (?P<returned>\d+) gradients, but forward takes "
        r"(?P<taken>\d+) arguments",
        message,
    )
    if not found:
        return None
    count, due = found["got"] or found["returned"], found["due"] or found["taken"]
    listed = operator.signature.arguments
    order = f": {', '.join(listed)}" if len(listed) == int(due) else ""
    sentence = f"`backward` returns {count} values for {due} arguments{order}"
    return names.GRADIENTS_MISCOUNTED, sentence


def _no_tensor(message: str, operator: Operator, _: AgainCall | None) -> Named | None:
    """A gradient where PyTorch expects None."""
    found = re.search(
        rf"{operator.name}Backward returned a gradient different than None at position "
        r"(\d+)",
        message,
    )
    listed = operator.signature.arguments
    if not found or not 1 <= int(found[1]) <= len(listed):
        return None
    name = listed[int(found[1]) - 1]
    sentence = (
        f"`backward` returns a gradient in the place of '{name}'. This argument is not "
        f"a tensor here. The places are {', '.join(listed)}"
    )
    return names.GRADIENT_OF_NO_TENSOR, sentence


def _invalid(message: str, operator: Operator, call: AgainCall | None) -> Named | None:
    """A gradient with the sizes of something else."""
    found = re.search(
        rf"{operator.name}Backward returned an invalid gradient at index (\d+) - got "
        rf"{SIZES} but expected shape compatible with {SIZES}",
        message,
    )
    inputs = [argument.name for argument in operator.signature.inputs]
    if not found or int(found[1]) >= len(inputs):
        return None
    name, got, due = inputs[int(found[1])], found[2], found[3]
    if got == "0":
        sentence = (
            f"the gradient of '{name}' is an empty tensor, but it is wanted. Which "
            "entry of output_mask decides whether it is computed?"
        )
        return names.GRADIENT_EMPTY, sentence
    sentence = f"the gradient of '{name}' has the sizes [{got}], expected [{due}]"
    turned = sorted(whole_numbers(got)) == sorted(whole_numbers(due))
    if turned:
        sentence += ": the sizes are right, but they are in another order"
    same = [
        other
        for other in inputs
        if call and not call.batches and other != name and other in call.tensors
        if list(call.tensors[other].shape) == whole_numbers(got)
    ]
    if same:
        sentence += f". '{same[0]}' has these sizes: are two gradients exchanged?"
    return names.AXES_EXCHANGED if turned else names.GRADIENT_SIZES_WRONG, sentence


# ---- the axis of the examples --------------------------------------------------------


def _batch_axis(message: str, _: Operator, call: AgainCall | None) -> Named | None:
    """A tensor that reaches the operator with the axis of the examples, or without."""
    if call is None or len(call.batches) != 1:
        return None
    axes, having, lacking = call.batches[0], [], []
    for name, text in re.findall(rf"'(\w+)' (?:must be .* got )?{SIZES}", message):
        tensor, got = call.tensors.get(name), whole_numbers(text)
        if tensor is None:
            continue
        shown = f"'{name}' ({text})"
        if name in axes:
            whole = [list(tensor.shape), list(tensor.movedim(axes[name], 0).shape)]
            if got in whole:
                having.append(shown)
        elif got == list(tensor.shape):
            lacking.append(shown)
    if not having:
        return None
    B = call.examples
    sentence = f"{' and '.join(having)} has the axis of the {B} examples"
    if len(having) > 1:
        sentence = sentence.replace(" has ", " have ")
    if lacking:
        sentence += f", but {' and '.join(lacking)} has no such axis"
    return names.BATCH_AXIS_NOT_HANDLED, f"{sentence} when the operator is called"


def _groups(message: str, _: Operator, call: AgainCall | None) -> Named | None:
    """Channels of all examples joined, but not the groups."""
    found = re.search(
        r"'input' has (\d+) channels in (\d+) groups|channels in each of (\d+) groups, "
        r"'input' has (\d+)",
        message,
    )
    if not found or call is None or len(call.batches) != 1:
        return None
    channels = int(found[1] or found[4])
    groups = int(found[2] or found[3])
    B, axes = call.examples, call.batches[0]
    image = call.tensors["input"]
    image = image.select(axes["input"], 0) if "input" in axes else image
    own, given = image.shape[1], call.options.get("groups")
    if (channels, groups) != (B * own, given):
        return None
    sentence = (
        f"'input' has {channels} channels: {own} channels for each of {B} examples. "
        f"But groups is still {groups}, expected {groups} * {B}"
    )
    return names.GROUPS_NOT_MULTIPLIED, sentence


# ---- options -------------------------------------------------------------------------


def _options(message: str, operator: Operator, call: AgainCall | None) -> Named | None:
    """An option that arrives with another option's numbers."""
    if call is None or call.batches:
        return None
    given = {
        option.name: option.values(call.options[option.name])
        for option in operator.signature.options
        if option.axes and option.name in call.options
    }
    words = "|".join(given)
    said = (
        {
            name: tuple(whole_numbers(text))
            for name, text in re.findall(
                rf"\b({words})(?:_[dhw])?'?(?: is)? [\[(]?(-?\d+(?:, -?\d+)*)(?!\d|==)",
                message,
            )
        }
        if words
        else {}
    )
    wrong = {
        name: numbers
        for name, numbers in said.items()
        if not set(numbers) <= set(given[name])
    }
    for name, numbers in wrong.items():
        for other, values in given.items():
            if other != name and set(numbers) <= set(values):
                arrives = ", ".join(map(str, numbers))
                sentence = (
                    f"{name} arrives as {arrives}, but the call has {name} "
                    f"{list(given[name])} and {other} {list(values)}. Does the number "
                    f"of {other} stand in the place of {name}?"
                )
                return names.OPTIONS_EXCHANGED, sentence
    return None


RULES: Sequence[Rule] = (
    _plain,
    _count,
    _no_tensor,
    _invalid,
    _groups,
    _batch_axis,
    _options,
    *sizes.RULES,
)
