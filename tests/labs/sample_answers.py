# SPDX-License-Identifier: MIT
"""Compares lab 05's answer to a call with PyTorch's: values, gradients, refusals.

The answer is right if it has PyTorch's values, first and second derivatives. A refusal
is right if its sentence is one of lab 05's own: it begins with the operator's name and
names an argument of the call. The same call is made with fake tensors (torch.compile):
they have the sizes and dtypes of the answer, or a refusal that is as good.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils import _pytree as pytree

from tests.labs.sample_calls import Call

TOLERANCES = {torch.float32: (1.3e-6, 1e-5), torch.float64: (1e-7, 1e-7)}  # rtol, atol
INTERNAL = re.compile(  # words of PyTorch about its own parts
    r"INTERNAL|[Cc]ould not run|[Dd]ispatch|ScalarType|not implemented for|aten::"
    r"|convlab::|[Bb]ackend|schema|has no attribute|Tensor\w*Impl|originally from"
)
EQUAL, REFUSED, WRONG = "equal", "refused", "wrong"


@dataclass(frozen=True)
class Answer:
    """What came of one call."""

    call: str
    kind: str  # EQUAL, REFUSED or WRONG
    sentence: str = ""  # of the refusal, or what is wrong
    torchs: bool = True  # whether PyTorch answers the call


def answer(call: Call) -> Answer:
    """Make the call, with numbers and with fake tensors."""
    expected = _attempt(call.torchs, call)
    answers = not isinstance(expected, Exception)
    found = _attempt(call.ours, call)
    if isinstance(found, Exception):
        wrong = _wrong_refusal(call, found)
        kind = WRONG if wrong else REFUSED
        return Answer(str(call), kind, wrong or _line(found), answers)
    wrong = _wrong_fake(call, found[0])
    if isinstance(expected, Exception):
        wrong = wrong or f"PyTorch refuses this: {_line(expected)}"
    else:
        wrong = wrong or _difference(call, found, expected)
    return Answer(str(call), WRONG if wrong else EQUAL, wrong, answers)


def _attempt(function: Callable[..., Any], call: Call) -> list[Tensor] | Exception:
    try:
        return results_of(function, call)
    except Exception as error:
        return error


def _line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0]


# ---- values and derivatives ----------------------------------------------------------


def results_of(function: Callable[..., Any], call: Call) -> list[Tensor]:
    """The results; the gradients of all that requires one; the gradients of those."""
    given = pytree.tree_map_only(Tensor, _leaf, (call.arguments, call.options))
    outputs = _tensors(function(*given[0], **given[1]))
    leaves = [tensor for tensor in _tensors(given) if tensor.requires_grad]
    results = [output.detach() for output in outputs]
    if not leaves or not outputs[0].requires_grad:
        return results
    random = torch.Generator().manual_seed(1)
    starts = [_start(output, random).requires_grad_() for output in outputs]
    words = {"allow_unused": True, "materialize_grads": True}
    grads = torch.autograd.grad(outputs, leaves, starts, create_graph=True, **words)
    results += [grad.detach() for grad in grads]
    slopes = [grad for grad in grads if grad.requires_grad]
    if slopes:
        again = [_start(slope, random) for slope in slopes]
        results += torch.autograd.grad(slopes, [*leaves, *starts], again, **words)
    return results


def _leaf(tensor: Tensor) -> Tensor:
    return tensor.detach().clone().requires_grad_(tensor.requires_grad)


def _start(like: Tensor, random: torch.Generator) -> Tensor:
    numbers = torch.randn(like.shape, generator=random, dtype=torch.float64)
    return numbers.to(like.dtype)


def _tensors(tree: Any) -> list[Tensor]:
    return [one for one in pytree.tree_leaves(tree) if isinstance(one, Tensor)]


def _difference(call: Call, found: Sequence[Tensor], expected: Sequence[Tensor]) -> str:
    """Where the results differ; "" if they do not."""
    if call.operator == "layer_norm":  # of D = 1 PyTorch's has no digit in float
        exact = results_of(call.torchs, _doubled(call))
        expected = [one.to(like.dtype) for one, like in zip(exact, expected)]
    try:
        compare(found, expected)
    except AssertionError as error:
        return str(error)
    return ""


def _doubled(call: Call) -> Call:
    """The call in double."""

    def double(tensor: Tensor) -> Tensor:
        return tensor.detach().double().requires_grad_(tensor.requires_grad)

    given = pytree.tree_map_only(Tensor, double, (call.arguments, call.options))
    return Call(call.name, call.operator, call.ours, call.torchs, *given)


def compare(results: Sequence[Tensor], expected: Sequence[Tensor]) -> None:
    """`assert_close`, with a sum that cancels held to the digits of its tensor: the
    summands of a small element are as large as those of the largest one.

    Raises AssertionError.
    """
    for result, wanted in zip(results, expected, strict=True):
        rtol, atol = TOLERANCES.get(wanted.dtype, (0.0, 0.0))
        finite = wanted.detach().abs()[wanted.isfinite()]
        largest = finite.max().item() if finite.numel() else 0.0
        atol = max(atol, rtol * largest)
        torch.testing.assert_close(result, wanted, rtol=rtol, atol=atol, equal_nan=True)


# ---- refusals ------------------------------------------------------------------------


def _wrong_refusal(call: Call, error: Exception) -> str:
    """What is wrong with a refusal, or with that of the same call of fake tensors."""
    if wrong := wrong_sentence(call, _line(error)):
        return wrong
    try:
        if _fake(call) is None:
            return ""
    except Exception as said:
        if _of_dtype(error) and _line(said) != _line(error):
            return f"fake tensors say {_line(said)}"
        return wrong_sentence(call, _line(said))
    return "fake tensors are accepted"


def _of_dtype(error: Exception) -> bool:
    return " on cpu, expected" in _line(error)


def wrong_sentence(call: Call, sentence: str) -> str:
    """What a sentence of a refusal lacks; "" if nothing."""
    if not sentence.startswith(f"{call.operator}: "):
        return f"does not name the operator: {sentence}"
    if not any(f"'{name}'" in sentence for name in call.names()):
        return f"names no argument: {sentence}"
    if INTERNAL.search(sentence):
        return f"internal words: {sentence}"
    return ""


def _wrong_fake(call: Call, real: Tensor) -> str:
    """How the results of fake tensors differ from `real`, the first real one."""
    try:
        found = _fake(call)
    except Exception as error:
        return f"fake tensors are refused: {_line(error)}"
    if found is None:
        return ""
    fake = _tensors(found)[0]
    same = fake.shape == real.shape and fake.dtype == real.dtype
    return "" if same else f"fake tensors give {fake}"


def _fake(call: Call) -> Any:
    """The call with fake tensors; None if PyTorch cannot make them of such tensors."""
    with FakeTensorMode() as mode:
        given = call.arguments, call.options
        try:
            given = pytree.tree_map_only(Tensor, mode.from_tensor, given)
        except Exception:
            if all(_is_dense(leaf) for leaf in pytree.tree_leaves(given)):
                raise
            return None
        return call.ours(*given[0], **given[1])


def _is_dense(value: Any) -> bool:
    """Whether a value is no sparse, nested or quantized tensor."""
    if not isinstance(value, Tensor):
        return True
    strided = value.layout is torch.strided
    return strided and not value.is_nested and not value.is_quantized
