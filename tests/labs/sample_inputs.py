# SPDX-License-Identifier: MIT
"""PyTorch's own sample inputs, put to lab 05's public functions.

PyTorch tests each of its operators on lists of inputs, which know every way it is
called. Of each either the same values and gradients come out, or a sentence says why
not. The second kind is listed in docs/results/sample_inputs.md, which

    python -m tests.labs.sample_inputs

writes, and tests/labs/test_extension_samples.py compares.
"""

from __future__ import annotations

import re
import sys
import unittest
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from grader.course.rungs import ROOT
from tests.labs.extension import package

PAGE = ROOT / "docs" / "results" / "sample_inputs.md"
IN_TORCH = {  # our name -> PyTorch's
    "add": "add",
    "matmul": "matmul",
    "linear": "nn.functional.linear",
    "unfold": "nn.functional.unfold",
    "conv2d": "nn.functional.conv2d",
    "depthwise_conv2d": "nn.functional.conv2d",  # where there is a group a channel
    "gelu": "nn.functional.gelu",
    "layer_norm": "nn.functional.layer_norm",
}
TOLERANCES = {torch.float32: (1.3e-6, 1e-5), torch.float64: (1e-7, 1e-7)}  # rtol, atol
ALLOWED = 0.1  # of an operator's samples that may be refused
MORE = {"layer_norm": 0.17}  # one of six has a negative eps
HEAD = """# PyTorch's own sample inputs

Made by `python -m tests.labs.sample_inputs`; `tests/labs/test_extension_samples.py`
holds it against the operators. Samples are those of
`torch.testing._internal.common_methods_invocations` for float32 and float64 on the CPU;
"equal" is values and gradients by `torch.testing.assert_close`, with the absolute
tolerance of the largest element.

| operator | samples | equal | refused |
|---|--:|--:|--:|
"""


def pytorchs(name: str) -> Any:
    """What PyTorch's tests know of one of its operators.

    Its test material wants the package expecttest, for a class that is not used here.
    """
    if "expecttest" not in sys.modules:
        empty = ModuleType("expecttest")
        empty.TestCase = unittest.TestCase  # type: ignore[attr-defined]
        sys.modules["expecttest"] = empty
    # the import forbids to set PyTorch's flags; this takes it back
    with getattr(torch.backends, "__allow_nonbracketed_mutation")():
        from torch.testing._internal.common_methods_invocations import op_db

    return next(o for o in op_db if o.name == name and not o.variant_test_name)


@dataclass
class Found:
    """What came of an operator's samples."""

    samples: int = 0
    refused: list[str] = field(default_factory=list)  # the call and the sentence
    wrong: list[str] = field(default_factory=list)  # what is neither equal nor refused


@cache
def inspect(operator: str) -> Found:
    """Put all samples to an operator."""
    ours, info = getattr(package(), operator), pytorchs(IN_TORCH[operator])
    theirs = {"depthwise_conv2d": depthwise}.get(operator, info.op)
    found = Found()
    for dtype in TOLERANCES:
        torch.manual_seed(0)
        for sample in info.sample_inputs("cpu", dtype, requires_grad=True):
            if operator == "depthwise_conv2d":
                if sample.kwargs.get("groups", 1) != sample.input.shape[-3]:
                    continue
                sample.kwargs.pop("groups", None)
            found.samples += 1
            call = f"`{described(operator, sample)}`"
            arguments = sample.input, *sample.args
            try:
                results = results_of(ours, arguments, sample.kwargs)
            except (RuntimeError, ValueError) as error:
                sentence = str(error).splitlines()[0]
                kept = found.refused if ours_is(operator, sentence) else found.wrong
                kept.append(f"{call}: {sentence}")
                continue
            expected = results_of(theirs, arguments, sample.kwargs)
            if operator == "layer_norm":  # of D = 1 PyTorch's has no digit in float
                exact = results_of(theirs, doubled(arguments), sample.kwargs)
                expected = [tensor.to(dtype) for tensor in exact]
            try:
                compare(results, expected)
            except AssertionError as error:
                found.wrong.append(f"{call}: {error}")
    return found


def compare(results: Sequence[Tensor], expected: Sequence[Tensor]) -> None:
    """`assert_close`, with a sum that cancels held to the digits of its tensor: the
    summands of a small element are as large as those of the largest one.

    Raises AssertionError.
    """
    for result, wanted in zip(results, expected, strict=True):
        rtol, atol = TOLERANCES[wanted.dtype]
        largest = wanted.detach().abs().max().item() if wanted.numel() else 0.0
        atol = max(atol, rtol * largest)
        torch.testing.assert_close(result, wanted, rtol=rtol, atol=atol)


def depthwise(input: Tensor, *more: Any, **options: Any) -> Tensor:
    """PyTorch's conv2d with a group for each channel."""
    return torch.nn.functional.conv2d(input, *more, **options, groups=input.shape[-3])


def doubled(arguments: Any) -> list[Any]:
    """Tensors in double, leaves as before."""
    return [
        a.detach().double().requires_grad_(a.requires_grad)
        if isinstance(a, Tensor)
        else a
        for a in arguments
    ]


def ours_is(operator: str, sentence: str) -> bool:
    """Whether a sentence is one of the contract."""
    return bool(re.match(rf"{operator}(_forward)?: |a tensor has ", sentence))


def results_of(
    function: Callable[..., Tensor], arguments: Any, options: dict[str, Any]
) -> list[Tensor]:
    """The value and the gradient of every tensor that wants one."""
    leaves = [
        a.detach().clone().requires_grad_(a.requires_grad)
        if isinstance(a, Tensor)
        else a
        for a in arguments
    ]
    output = function(*leaves, **options)
    wanted = [a for a in leaves if isinstance(a, Tensor) and a.requires_grad]
    random = torch.Generator().manual_seed(1)
    grad = torch.randn(output.shape, generator=random, dtype=output.dtype)
    return [output, *torch.autograd.grad(output, wanted, grad)]


def described(operator: str, sample: Any) -> str:
    """A sample as a call with shapes in place of tensors."""

    def word(value: Any) -> str:
        if not isinstance(value, Tensor):
            return repr(value)
        dtype = str(value.dtype).removeprefix("torch.")
        return f"{dtype}[{', '.join(map(str, value.shape))}]"

    words = [word(a) for a in (sample.input, *sample.args)]
    words += [f"{name}={word(value)}" for name, value in sample.kwargs.items()]
    return f"{operator}({', '.join(words)})"


def page() -> str:
    """The whole page."""
    found = {operator: inspect(operator) for operator in IN_TORCH}
    rows = [
        f"| {operator} | {f.samples} | {f.samples - len(f.refused)} "
        f"| {len(f.refused)} |\n"
        for operator, f in found.items()
    ]
    return HEAD + "".join(rows) + "".join(_refused(found))


def _refused(found: dict[str, Found]) -> Iterator[str]:
    for operator, one in found.items():
        if one.refused:
            yield f"\n## Refused by {operator}\n\n"
            yield from (f"- {line}\n" for line in one.refused)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
