# SPDX-License-Identifier: MIT
"""Marks a kernel's results, so that lab 05's gates see whether the kernel was called.

In a marked gate each call of a kernel leaves the student's process. Its outputs come
back multiplied by a factor that the process does not know (wrappers.h). The right
results are the operator's results with this factor. PyTorch's own results lack the
factor, so a package that does not call its kernel fails.

If an operator is linear in one of its inputs, the factor belongs to that input. Then
derivatives of any order and batches carry it, however they call the kernels. For other
operators the factor belongs to the outputs, or to the gradients, of one call.
"""

from __future__ import annotations

import copy
import random
from typing import Any

import torch
from signatures import SIGNATURES

from grader.operators import Operator
from grader.runner.supervisor.kernel_calls import REALS, KernelCall, Sent

LINEAR = {  # in this input, which carries the factor
    "add": "other",
    "matmul": "other",
    "linear": "weight",
    "unfold": "input",
    "conv2d": "weight",
    "depthwise_conv2d": "weight",
    "subm_conv3d": "weight",
}
CALLS = ("autocast", "export", "compile", "mask", "compile_backward")
COMPOSED = ("vmap", "torch_func", "forward_ad", "gradgradcheck")  # of several calls
PRODUCTS = tuple(name for name in LINEAR if name not in ("add", "unfold"))
ADDED = {"add": "input", **dict.fromkeys(PRODUCTS, "bias")}  # to what carries it


def is_marked(operator: str, gate: str) -> bool:
    """Whether the results of a gate carry a mark."""
    return gate in CALLS or (gate in COMPOSED and operator in LINEAR)


def drawn() -> float:
    """A mark: nothing that the process knows leads to it, the run's seed included."""
    return random.SystemRandom().uniform(1.3, 1.9)


def marked(operator: Operator, by: float) -> Operator:
    """The operator whose kernel is marked."""
    made, plain = copy.copy(operator), operator.reference
    names = [argument.name for argument in operator.signature.inputs]
    which = names.index(LINEAR[operator.name]) if operator.name in LINEAR else None

    def reference(*inputs: torch.Tensor | None, **options: Any) -> Any:
        given = list(inputs)
        if which is not None:
            one = given[which]
            given[which] = None if one is None else one * by
            return plain(*given, **options)
        found = plain(*given, **options)
        if isinstance(found, tuple):
            return tuple(one * by for one in found)
        return found * by

    made.reference = reference  # type: ignore[method-assign]
    return made


def answer(call: KernelCall, operator: str, *, backward: bool, by: float) -> bytes:
    """The outputs of a kernel's call as they go back, in a gate of `operator`."""
    name, _, direction = call.name.rpartition("_")
    group = PRODUCTS if operator in PRODUCTS else (operator,)
    asked = operator in LINEAR or (direction == "backward") == backward
    sent = [one for one in call.outputs if one]
    if name not in group or not asked:
        return b"".join(one.data for one in sent)
    if direction == "forward":
        return b"".join(_times(one, by, _added(call, name, one)) for one in sent)
    signature = SIGNATURES[name]
    carry = [argument != ADDED.get(name) for argument in signature.gradients]
    return b"".join(
        _times(one, by) if marks else one.data
        for one, marks in zip(call.outputs, carry)
        if one
    )


def _times(one: Sent, by: float, added: torch.Tensor | float = 0.0) -> bytes:
    """A tensor's bytes, multiplied but for what is `added`; integers as they are."""
    if one.dtype not in REALS or not one.data:
        return one.data
    numbers = _numbers(one)
    return bytes(((numbers - added) * by + added).numpy().tobytes())


def _added(call: KernelCall, name: str, one: Sent) -> torch.Tensor | float:
    """What an output holds besides the product: a bias, or add's first input."""
    names = [argument.name for argument in SIGNATURES[name].inputs]
    given = dict(zip(names, call.inputs)).get(ADDED.get(name, ""))
    if given is None or given.dtype != one.dtype or not given.data:
        return 0.0
    if one.dtype not in REALS:
        return 0.0
    added = _numbers(given)
    try:
        added = added[:, None, None] if name.endswith("conv2d") else added
        return added.expand(one.sizes)
    except (
        RuntimeError,
        IndexError,
    ):  # of no call of the operator: any answer is wrong
        return 0.0


def _numbers(one: Sent) -> torch.Tensor:
    kind = getattr(torch, REALS[one.dtype])
    return torch.frombuffer(bytearray(one.data), dtype=kind).reshape(one.sizes)
