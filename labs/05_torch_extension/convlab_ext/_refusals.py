# SPDX-License-Identifier: MIT
"""Sentences about wrong arguments: operator, argument, what came, what is taken.

A right call costs nothing here: the sentences are made after a call has failed. They
name arguments by the schema of the operator.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

AXES = 6  # TENSOR_MAX_DIMS of common/tensor.h
TAKEN = {  # the dtypes of the kernels on each device
    "cpu": (torch.float32, torch.float64),
    "cuda": (torch.float16, torch.float32, torch.float64),
}
WHOLE_NUMBERS = ("coordinates", "rulebook", "count")  # the contract checks their dtypes
PLAIN = (int, float, complex, str, list, tuple, type(None))  # quoted as they are


def must_be_tensor(operator: str, name: str, value: Any) -> None:
    """Refuse what a public function cannot ask for its sizes."""
    if not isinstance(value, Tensor):
        raise TypeError(f"{operator}: '{name}' is {shown(value)}, expected a tensor")


def explain(error: Exception, operator: Any, arguments: Sequence[Any]) -> None:
    """Let the error of a failed call name the argument that caused it, if one did.

    If none did, a plain error gets the operator's name in front.
    """
    name = operator._schema.name.split("::")[1]
    name = name.removesuffix("_backward")
    for argument, value in zip(operator._schema.arguments, arguments):
        if said := refused(argument.name, str(argument.type), value):
            sentence = f"{name}: '{argument.name}' {said}"
            if isinstance(error, AttributeError):  # of None, or of a number
                raise TypeError(sentence) from error
            error.args = (sentence,)
            return
    plain = type(error) in (RuntimeError, ValueError)
    if plain and not str(error).startswith(name):
        error.args = (f"{name}: {error}",)


def refused(name: str, kind: str, value: Any) -> str:
    """What came and what is taken; "" if the value may be right."""
    if expected := expected_of(kind, value):
        return f"is {shown(value)}, expected {expected}"
    if not isinstance(value, Tensor):
        return ""
    if value.dim() > AXES:
        return f"has {value.dim()} axes, expected at most {AXES}"
    if name in WHOLE_NUMBERS or takes(value):
        return ""
    device = value.device.type
    return f"is {named(value.dtype)} on {device}, expected {dtypes(device)}"


def takes(tensor: Tensor) -> bool:
    """Whether kernels for this dtype exist on its device; other devices have none."""
    floating = tensor.dtype.is_floating_point
    return floating and tensor.dtype in TAKEN.get(tensor.device.type, (tensor.dtype,))


def dtypes(device: str) -> str:
    """The dtypes of one device, in words."""
    *others, last = map(named, TAKEN.get(device, TAKEN["cpu"]))
    return f"{', '.join(others)} or {last}"


def named(dtype: torch.dtype) -> str:
    """float32, without `torch.`."""
    return str(dtype).removeprefix("torch.")


def expected_of(kind: str, value: Any) -> str:
    """What the schema takes in the place of this value; "" if the value will do."""
    there = isinstance(value, Tensor)
    if kind == "Tensor":
        return "" if there else "a tensor"
    if kind == "Optional[Tensor]":
        return "" if there or value is None else "a tensor or None"
    if kind == "int":
        return "" if is_whole(value) else "a whole number below 2^63"
    if kind == "List[int]":
        right = isinstance(value, (list, tuple)) and all(map(is_whole, value))
        return "" if right else "whole numbers below 2^63"
    if kind == "float":
        return "" if hasattr(value, "__float__") else "a number"
    if kind == "str":
        return "" if isinstance(value, str) else "a string"
    return ""


def is_whole(value: Any) -> bool:
    """Whether the dispatcher takes it for an integer of 64 bits."""
    fits = not isinstance(value, int) or -(2**63) <= value < 2**63
    return hasattr(value, "__index__") and fits


def shown(value: Any) -> str:
    """A value as a message quotes it; of a long one, or an object, the type."""
    if isinstance(value, PLAIN) and len(repr(value)) <= 60:
        return repr(value)
    kind = type(value)
    return f"of type {kind.__module__}.{kind.__name__}".replace("builtins.", "")
