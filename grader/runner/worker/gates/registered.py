# SPDX-License-Identifier: MIT
"""Gates for the registered operator: opcheck, the output mask and errors."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.testing._internal.optests.generate_tests import OpCheckError
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from grader.runner.worker.gates.bound import Borrowed, Bound, Broken, Job, Named, leaves
from grader.runner.worker.student_rules import quoted

WORDS = 5  # fewer are no sentence
EXPECTED = re.compile(  # what relates a thing that is wrong to what it should be
    r"\b(expect(s|ed)?|must|should|needs?|requires?|cannot|can't|at least|at most|than"
    r"|same|equal|match(es)?|differ|multiple|divi(de|des|sible)|spans|fit|convert)\b"
)
ARGUMENT_CHECKS = "call the check of common/check.c (`run` calls it)"
FAKE_CHECKS = "refuse such calls with torch._check in the rule `fake`"
REGISTERED = torch._C._dispatch_get_registrations_for_dispatch_key
SHOWN = 240  # characters of PyTorch's words
UNLIKE = re.compile(  # the kernel's, then the fake kernel's
    r"(?:output\[(\d+)\]: .*)?(Shapes|Dtypes|Strides are) (.+?) and (.+?) "
    r"(?:are not equal|\(mismatched at)"
)
UTILS = (
    "test_schema",
    "test_autograd_registration",
    "test_faketensor",
    "test_aot_dispatch_static",
    "test_aot_dispatch_dynamic",
)
MEANS = {
    "test_schema": "it writes to an argument, or a result shares memory with an "
    "argument or another result. The schema allows neither",
    "test_autograd_registration": "the autograd rule is not registered for the "
    "operator: call `register`",
    "test_faketensor": "the fake kernel must return the sizes, strides and dtype of "
    "the real kernel without reading data. Write `fake`, and create the result with "
    "new_empty (not with empty_like, which copies channels_last strides)",
    "test_aot_dispatch": "torch.compile raises an exception, or gives other results or "
    "gradients than a direct call: check what `fake` and `backward` return",
}
SCHEMA_RAISES = (
    "the call raises an exception. Does the function take its arguments in the order "
    "of the schema?"
)
SHARES = re.compile(r"alias|mutated|return inputs")  # in PyTorch's own words


def opcheck(bound: Bound, job: Job) -> Named:
    """torch.library.opcheck on one sample, all its tests."""
    backward = bool(job["backward"])
    operator = bound.operator(backward=backward)
    arguments = list(bound.arguments(operator, job, job.get("mask", ())))
    if job["differentiate"]:
        asked = {*job["grad_outputs"], *bound.signature.gradients}
        for i, one in enumerate(operator._schema.arguments):
            if one.name in asked and isinstance(arguments[i], torch.Tensor):
                arguments[i] = arguments[i].detach().requires_grad_()
        _must_record(operator)
    for util in UTILS:
        try:
            torch.library.opcheck(operator, tuple(arguments), test_utils=util)
        except OpCheckError as error:
            order = "" if backward else bound.order_of(operator)
            sentence = _opcheck_sentence(operator, util, error)
            raise Broken("; ".join(filter(None, (sentence, order)))) from error
    return []


def _must_record(operator: Any) -> None:
    """The operator itself has derivatives; opcheck looks away where none is there."""
    name = operator._schema.name
    if name not in [*REGISTERED("Autograd"), *REGISTERED("AutogradCPU")]:
        raise Broken(
            f"{name} has no kernel on the key Autograd, so a call by torch.ops gets no "
            "gradient: `register` adds this kernel"
        )


def _opcheck_sentence(operator: Any, util: str, error: Exception) -> str:
    """What failed, why, and PyTorch's own words."""
    text = str(error)
    said = re.search(r"failed with (.*?)(\(scroll up|$)", text, re.S)
    words = _both(" ".join((said[1] if said else text).split()))
    meaning = next(m for name, m in MEANS.items() if util.startswith(name))
    if util == "test_schema" and not SHARES.search(words):
        meaning = SCHEMA_RAISES
    return f"opcheck's {util} of {operator._schema.name}: {meaning} ({words})"


def _both(words: str) -> str:
    """What the kernel and the fake kernel gave, where that is what differs; else the
    beginning of PyTorch's words, which do not say whose is which.
    """
    if not (found := UNLIKE.search(words)):
        return quoted(words, SHOWN)
    what = {"Shapes": "sizes", "Dtypes": "dtype", "Strides are": "strides"}[found[2]]
    kernel, fake = (re.sub(r"torch\.Size\((.*)\)", r"\1", v) for v in found.group(3, 4))
    which = f"result {found[1]}: " if found[1] else ""
    return f"{which}the fake kernel gave {what} {fake}, but the kernel gave {kernel}"


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
        return (
            f"{operator._schema.name} with output_mask={mask} does not compute {name}"
        )
    return (
        f"{operator._schema.name} with output_mask={mask} computes {name}, which is "
        "not wanted. Give the kernel NULL for it (`wanted`) and return an empty tensor "
        "(`or_empty`)"
    )


def _rule_asks_for(bound: Bound, job: Job, name: str) -> None:
    """The autograd rule has to ask for the gradients that are needed, no others."""
    given = {**job["tensors"], **leaves(job, [name])}
    results = bound.call(given, job["options"])
    with Seen(bound.name) as seen:
        torch.autograd.grad(results, given[name], [*job["grad_outputs"].values()])
    right = [n == name for n in bound.signature.gradients]
    if not seen.masks:
        raise Borrowed(
            f"the gradient is computed without convlab::{bound.name}_backward: call "
            "this operator in the rule"
        )
    if seen.masks[0] != right:
        raise Broken(
            f"if only the gradient of '{name}' is needed, the rule calls "
            f"{bound.name}_backward with output_mask={seen.masks[0]}: build the mask "
            "from ctx.needs_input_grad"
        )


# ---- errors --------------------------------------------------------------------------


def errors(bound: Bound, job: Job) -> Named:
    """A call that PyTorch refuses: refused here, too, by function and by operator with
    a sentence, and by the operator for tensors that have sizes and no numbers.
    """
    operator = bound.operator()
    given = bound.arguments(operator, job)

    def by_function() -> Any:
        return bound.call(job["tensors"], job["options"])

    def by_operator() -> Any:
        return operator(*given)

    def by_fake() -> Any:
        with FakeTensorMode() as mode:
            return operator(
                *pytree.tree_map_only(torch.Tensor, mode.from_tensor, given)
            )

    name, order = f"torch.ops.convlab.{bound.name}", bound.order_of(operator)
    for who, call in ((f"convlab_ext.{bound.name}", by_function), (name, by_operator)):
        _says_why(who, job, _refusal(who, job, call, ARGUMENT_CHECKS), order)
    _refusal(f"{name} for fake tensors (torch.compile)", job, by_fake, FAKE_CHECKS)
    return []


def _refusal(name: str, job: Job, call: Callable[[], Any], mend: str) -> Exception:
    """What the call raises, which is no rule that nobody has written."""
    try:
        call()
    except NotImplementedError:
        raise
    except Exception as error:
        return error
    raise Broken(f"{name} accepts {job['what']}, which PyTorch refuses: {mend}")


def _says_why(name: str, job: Job, error: Exception, order: str) -> None:
    """A refusal has to name what is wrong, and what is right.

    `order` says how the schema's order differs from PyTorch's. Then an argument may
    arrive in the place of another one, and the refusal may be about that one.
    """
    text = " ".join(str(error).split())
    if lacking := lacks(text, job["names"], job["right"]):
        said = repr(quoted(text, 160)) if text else "empty"
        if order:
            raise Broken(
                f"{name} is called with {job['what']}. {order[0].upper()}{order[1:]}. "
                f"The call raises {said}"
            ) from error
        raise Broken(
            f"{name} refuses {job['what']}, but its message {lacking}. The message is "
            f"{said}. Name the argument, what you got and what was expected. The check "
            "in common/check.c does so, and `run` calls it"
        ) from error


def lacks(text: str, names: str, right: str) -> str:
    """What a refusal does not tell; "" if it names what is wrong, and what is right.

    Both are words with | between them, of which one has to be there.
    """
    if not re.search(rf"(?<![\w-])({names})", text):
        return f"does not name {' or '.join(names.split('|'))}"
    number = rf"(?<![\w.-])({right})(?!\d|\.\d)"
    if len(text.split()) < WORDS or not re.search(number, text):
        return "does not say what was expected"
    return "" if EXPECTED.search(text) else "does not say what was expected"
