# SPDX-License-Identifier: MIT
"""Computes operators in the dtype that torch.autocast asks for.

    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = convlab_ext.linear(x, weight)    # x and weight are float32, y is bfloat16

A network may keep its parameters in float32, and the results of most layers in 16 bits.
These need half the memory, and some processors multiply them faster. The user writes
only the block above. Inside of it the dispatcher calls the kernel of the key Autocast
first. Ours does three things:

    cast     each tensor becomes a tensor of a dtype for which a kernel exists
    call     the operator runs with autocast off: first Autograd, then the C++ function
    round    the result becomes a tensor of the dtype that autocast asks for

On the CPU the kernels have float32, so a sum is in float32, and only the result is
rounded to 16 bits. This is more exact than PyTorch's product, which rounds its inputs
as well. Both casts have a derivative, so a gradient has the dtype of its input.

autocast does not ask for 16 bits everywhere. RESULT says what it asks of each operator,
as PyTorch's lists do. The header autocast_mode of ATen has the lists for CUDA. Tensors
in float64 stay as they are.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from convlab_ext._refusals import TAKEN

KEYS = {"cpu": "AutocastCPU", "cuda": "AutocastCUDA"}
CAST = (torch.float32, torch.bfloat16, torch.float16)


# ---- the dtype of a result, from device, chosen dtype and arguments ------------------


def chosen(_device: str, dtype: torch.dtype, *_: Any) -> torch.dtype:
    """The dtype of torch.autocast. Products have it: matmul, linear and convolutions.

    depthwise_conv2d is PyTorch's conv2d with groups. subm_conv3d is its conv3d, or the
    product of each kernel position.
    """
    return dtype


def own(_device: str, _dtype: torch.dtype, input: Tensor, *more: Any) -> torch.dtype:
    """The dtype of the inputs. PyTorch's lists do not name add, gelu and unfold."""
    if more and isinstance(more[0], Tensor):
        return torch.result_type(input, more[0])
    return input.dtype


def normalised(device: str, _dtype: torch.dtype, input: Tensor, *_: Any) -> torch.dtype:
    """layer_norm is in the list of float32 on CUDA, and in no list on the CPU."""
    return torch.float32 if device == "cuda" else input.dtype


def stepped(_device: str, dtype: torch.dtype, *tensors: Tensor) -> torch.dtype:
    """Of lltm: the gates come from a product, and the old cell state is added.

    The sum of both has the larger dtype: float32 for a state in float32. So a state
    keeps its dtype over many steps.
    """
    c = tensors[4]  # (N, H)
    return torch.promote_types(dtype, c.dtype)


RESULT: dict[str, Callable[..., torch.dtype]] = {
    "add": own,
    "matmul": chosen,
    "linear": chosen,
    "unfold": own,
    "conv2d": chosen,
    "depthwise_conv2d": chosen,
    "gelu": own,
    "layer_norm": normalised,
    "lltm": stepped,
    "subm_conv3d": chosen,
}
ROUNDED = {"lltm": 2}  # results; of others the first. What backward needs stays exact


# ---- the kernel of the key -----------------------------------------------------------


def kernel_of(name: str, operator: Any, device: str) -> Callable[..., Any]:
    """What the dispatcher calls first where autocast is on.

    torch.library.register_autocast makes a kernel that casts the inputs to one dtype,
    and rounds nothing. Without kernels in 16 bits the results would stay in float32.
    """

    def kernel(*arguments: Any) -> Any:
        return in_autocast(name, device, operator, arguments)

    return kernel


class _Thread(threading.local):
    """What a thread does: another one may be outside of autocast."""

    computes = False  # an operator, for which autocast is off


_thread = _Thread()


def in_autocast(
    name: str, device: str, function: Callable[..., Any], arguments: Sequence[Any]
) -> Any:
    """What `function` gives with autocast off. Only the outermost call casts."""
    outermost = not _thread.computes
    _thread.computes = True  # torch.func turns autocast on again for each outer level
    torch.set_autocast_enabled(device, False)  # noqa: FBT003
    try:
        if outermost and name in RESULT and any(is_cast(a, device) for a in arguments):
            return cast(name, device, function, arguments)
        return function(*arguments)
    finally:
        torch.set_autocast_enabled(device, True)  # noqa: FBT003
        _thread.computes = not outermost


def cast(
    name: str, device: str, function: Callable[..., Any], arguments: Sequence[Any]
) -> Any:
    """The results of `function` for cast arguments, rounded."""
    wanted = RESULT[name](device, torch.get_autocast_dtype(device), *arguments)
    has_kernel = wanted in TAKEN[device] and wanted in CAST
    exact = wanted if has_kernel else torch.float32
    given = (a.to(exact) if is_cast(a, device) else a for a in arguments)
    return rounded(function(*given), wanted, ROUNDED.get(name, 1))


def over_examples(
    name: str, rule: Callable[..., Any], info: Any, in_dims: Any, arguments: Any
) -> Any:
    """What the rule `vmap` gives: it runs before the key Autocast has its turn.

    The rule may call several operators. Only its results are rounded.
    """
    device = arguments[0].device.type
    if device not in KEYS or not torch.is_autocast_enabled(device):
        return rule(info, in_dims, *arguments)
    axes: list[Any] = []

    def function(*given: Any) -> Any:
        results, where = rule(info, in_dims, *given)
        axes.append(where)
        return results

    return in_autocast(name, device, function, arguments), axes[0]


def is_cast(argument: Any, device: str) -> bool:
    """Whether autocast casts an argument: a tensor of this device, no integers."""
    there = isinstance(argument, Tensor) and argument.device.type == device
    return there and argument.dtype in CAST


def rounded(results: Any, dtype: torch.dtype, count: int) -> Any:
    """The first `count` results in this dtype."""
    if isinstance(results, Tensor):
        return results.to(dtype)
    return (*(result.to(dtype) for result in results[:count]), *results[count:])
