# SPDX-License-Identifier: MIT
"""Gates about what is registered: opcheck, the output mask, errors."""

from __future__ import annotations

import re
from typing import Any

import torch
from torch.testing._internal.optests.generate_tests import OpCheckError
from torch.utils._python_dispatch import TorchDispatchMode

from grader.worker.gates.bound import Borrowed, Bound, Broken, Job, Named, leaves

WORDS = 5  # fewer are no sentence
UTILS = (
    "test_schema",
    "test_autograd_registration",
    "test_faketensor",
    "test_aot_dispatch_dynamic",
)
MEANS = {
    "test_schema": "it writes to an argument or returns one, which its schema denies",
    "test_autograd_registration": "its autograd rule is not registered for the "
    "operator: `register` does that",
    "test_faketensor": "its fake kernel has to give the sizes, strides and dtype that "
    "the kernel gives, without looking at data: write `fake`, and make the result with "
    "new_empty (not empty_like, which copies channels_last strides)",
    "test_aot_dispatch": "traced as torch.compile does it, it gives other results or "
    "gradients than called directly: look at `fake`, `backward` and what they return",
}


def opcheck(bound: Bound, job: Job) -> Named:
    """torch.library.opcheck on one sample, all its tests."""
    backward = bool(job["backward"])
    operator = bound.operator(backward=backward)
    arguments = list(bound.arguments(operator, job, job.get("mask", ())))
    if job["differentiate"]:
        asked = {"grad_output", *bound.signature.gradients}
        for i, one in enumerate(operator._schema.arguments):
            if one.name in asked and isinstance(arguments[i], torch.Tensor):
                arguments[i] = arguments[i].detach().requires_grad_()
    for util in UTILS:
        try:
            torch.library.opcheck(operator, tuple(arguments), test_utils=util)
        except OpCheckError as error:
            raise Broken(_opcheck_sentence(operator, util, error)) from error
    return []


def _opcheck_sentence(operator: Any, util: str, error: Exception) -> str:
    """What failed, why, and PyTorch's own words."""
    text = str(error)
    said = re.search(r"failed with (.*?)(\(scroll up|$)", text, re.S)
    words = " ".join((said[1] if said else text).split())[:240]
    meaning = next(m for name, m in MEANS.items() if util.startswith(name))
    return f"opcheck's {util} of {operator._schema.name}: {meaning} ({words})"


# ---- the output mask -----------------------------------------------------------------


class Seen(TorchDispatchMode):
    """Notes the masks that the backward operator is called with."""

    def __init__(self, name: str) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.name, self.masks = name, list[list[bool]]()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if func._schema.name == f"convlab::{self.name}_backward":
            self.masks.append(list(args[-1]))
        return func(*args, **(kwargs or {}))


def output_mask(bound: Bound, job: Job) -> Named:
    """Only what is asked for is computed, by the operator and by the rule."""
    operator = bound.operator(backward=True)
    if all(one.name != "output_mask" for one in operator._schema.arguments):
        return []
    names = [f"grad_{name}" for name in bound.signature.gradients]
    whole = operator(*bound.arguments(operator, job))
    results: Named = list(zip(names, whole))
    for k, name in enumerate(names):
        mask = [i == k for i in range(len(names))]
        found = operator(*bound.arguments(operator, job, mask))
        for other, one, want in zip(names, found, mask):
            if want == (one.numel() == 0 and whole[names.index(other)].numel() > 0):
                raise Broken(_mask_sentence(operator, mask, other, want=want))
        results.append((name, found[k]))
    for name in bound.wanted(job):
        _rule_asks_for(bound, job, name)
    return results


def _mask_sentence(operator: Any, mask: list[bool], name: str, *, want: bool) -> str:
    if want:
        return f"{operator._schema.name} with output_mask={mask} does not give {name}"
    return (
        f"{operator._schema.name} with output_mask={mask} computes {name} all the "
        "same: give the kernel NULL for it (`wanted`) and return an empty tensor "
        "(`or_empty`)"
    )


def _rule_asks_for(bound: Bound, job: Job, name: str) -> None:
    """The autograd rule has to ask for the gradients that are needed, no others."""
    given = {**job["tensors"], **leaves(job, [name])}
    output = bound.call(given, job["options"])
    with Seen(bound.name) as seen:
        torch.autograd.grad(output, given[name], job["grad_output"])
    right = [n == name for n in bound.signature.gradients]
    if not seen.masks:
        raise Borrowed(
            f"the gradient is computed without convlab::{bound.name}_backward: the "
            "rule has to call it"
        )
    if seen.masks[0] != right:
        raise Broken(
            f"where only the gradient of '{name}' is needed, the rule calls "
            f"{bound.name}_backward with output_mask={seen.masks[0]}: build it from "
            "ctx.needs_input_grad"
        )


# ---- errors --------------------------------------------------------------------------


def errors(bound: Bound, job: Job) -> Named:
    """A call that PyTorch refuses: refused here, too, by function and by operator."""
    operator = bound.operator()

    def by_operator() -> Any:
        return operator(*bound.arguments(operator, job))

    def by_function() -> Any:
        return bound.call(job["tensors"], job["options"])

    shown = f"convlab_ext.{bound.name}", f"torch.ops.convlab.{bound.name}"
    for name, step in zip(shown, (by_function, by_operator)):
        try:
            step()
        except Exception as error:
            _is_a_sentence(name, job["what"], str(error))
        else:
            raise Broken(
                f"{name} accepts {job['what']}, which PyTorch refuses: call the "
                "contract's check (`run` does)"
            )
    return []


def _is_a_sentence(name: str, what: str, text: str) -> None:
    if len(text.split()) >= WORDS:
        return
    said = " ".join(text.split())[:160] or "nothing"
    raise Broken(
        f"{name} refuses {what}, but says only {said!r}: name the argument, what it is "
        "and what was expected"
    )
