# SPDX-License-Identifier: MIT
"""Counts the work of an operator: the count of the direct algorithm.

A faster algorithm (Winograd, a transform) does less work. Its rate uses the direct
count too, so that the rates of all rungs can be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import torch

from grader.course.bands import Cost
from grader.operators.case import Case
from grader.operators.entry import Operator, Tensors, numel

Tensor = torch.Tensor


def _linear(inputs: Tensors, output: Tensor) -> int:
    return output.numel() * inputs["weight"].shape[-1]


def _matmul(inputs: Tensors, output: Tensor) -> int:
    return output.numel() * inputs["input"].shape[-1]


def _conv2d(inputs: Tensors, output: Tensor) -> int:
    return output.numel() * numel(inputs["weight"].shape[1:])


def _lltm(inputs: Tensors, output: Tensor) -> int:
    return output.shape[0] * inputs["weight"].numel()


# what the best known algorithms save of a convolution's products: Winograd's
# F(6x6, 3x3) 324 / 64 for kernels up to 3, and no transform more than 8 for larger ones
SAVED_BY_3, SAVED_BEYOND = 5.1, 8.0


def _least(operator: Operator, case: Case, inputs: Tensors, once: int) -> float:
    """Multiply-adds of `once` that no known algorithm does without: those with the
    padding are none, and transforms save most of the others.
    """
    if operator.name not in ("conv2d", "depthwise_conv2d"):
        return float(once)
    image, kernel = inputs["input"].shape[2:], inputs["weight"].shape[2:]
    options = operator.signature.resolve(case.options)
    window = {k: options[k] for k in ("stride", "padding", "dilation")}
    ones = torch.ones(1, 1, *image), torch.ones(1, 1, *kernel)
    met = torch.nn.functional.conv2d(*ones, **window)  # products inside, by window
    inside = float(met.double().mean()) / numel(kernel)  # a share of all products
    saved = 1.0 if numel(kernel) == 1 else SAVED_BY_3
    saved = SAVED_BEYOND if max(kernel) > 3 else saved
    return once * inside / saved


#: forward multiply-adds of the operators that are sums of products
_SUMS: dict[str, Callable[[Tensors, Tensor], int]] = {
    "matmul": _matmul,
    "linear": _linear,
    "conv2d": _conv2d,
    "depthwise_conv2d": _conv2d,
    "lltm": _lltm,
}


def cost(
    operator: Operator,
    case: Case,
    inputs: Tensors,
    outputs: Sequence[Tensor],
    *,
    direction: str,
) -> Cost:
    """The cost of a direction as it is timed: backward of an operator that saves
    something includes its forward; "forward+backward" is both.
    """
    both = bool(operator.signature.saved)
    first = outputs[0]
    if operator.name == "subm_conv3d":
        pairs = int(operator.saved(inputs, case)[1][0].sum())
        once = pairs * numel(inputs["weight"].shape[:2])
    elif operator.name in _SUMS:
        once = _SUMS[operator.name](inputs, first)
    else:
        once = max(t.numel() for t in (*inputs.values(), first))
    sums = operator.name in _SUMS or operator.name == "subm_conv3d"
    sides = sum(operator.wanted(case)[:2]) if sums else 1  # gradients of two factors
    times = (direction != "backward" or both) + (direction != "forward") * sides
    forward_bytes = _bytes(inputs.values()) + _bytes(outputs)
    backward_bytes = forward_bytes  # grad_outputs for outputs, gradients for inputs
    if direction != "forward" and operator.signature.backward:
        read = [inputs[n] for n in operator.signature.backward if n in inputs]
        backward_bytes += _bytes(read)
    moved = (direction != "backward" or both) * forward_bytes
    moved += (direction != "forward") * backward_bytes
    work = float(times * once)
    least = 0.0
    if operator.name in _SUMS:
        least = times * _least(operator, case, inputs, once)
    return Cost(work, 2 * work if sums else 0.0, float(moved), least)


def _bytes(tensors: Iterable[Tensor]) -> int:
    return sum(t.numel() * t.element_size() for t in tensors)
