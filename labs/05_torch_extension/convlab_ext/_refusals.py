# SPDX-License-Identifier: MIT
"""Sentences about wrong arguments: operator, argument, what came, what is taken.

A right call costs nothing here: the sentences are made after a call has failed. They
name arguments by the schema of the operator.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import index
from typing import Any

import torch
from torch import Tensor
from torch.nn.parameter import Parameter, is_lazy

AXES = 6  # TENSOR_MAX_DIMS of common/tensor.h
MOST = 1 << 20  # MAX_OPTION of common/arguments.h
LEAST = {"kernel_size": 1, "stride": 1, "padding": 0, "dilation": 1, "groups": 1}
TAKEN = {  # the dtypes of the kernels on each device
    "cpu": (torch.float32, torch.float64),
    "cuda": (torch.float16, torch.float32, torch.float64),
}
TAKEN["meta"] = TAKEN["cuda"]  # all of them: a tensor that may come to any device
WHOLE_NUMBERS = {
    "coordinates": torch.int32,
    "rulebook": torch.int32,
    "count": torch.int64,
}
SUMS = ("mean", "rstd")  # float32 beside tensors in float16
USUAL = (Tensor, Parameter)  # what nearly every argument is
PLAIN = (int, float, complex, str, list, tuple, type(None))  # quoted as they are


def must_be_tensor(operator: str, name: str, value: Any) -> None:
    """Refuse what a public function cannot ask for its number of axes."""
    if type(value) in USUAL:
        return
    if not isinstance(value, Tensor):
        raise TypeError(f"{operator}: '{name}' is {shown(value)}, expected a tensor")
    if is_lazy(value):
        raise ValueError(f"{operator}: '{name}' {of_tensor(name, value)}")


def must_be_right(operator: str, *given: tuple[str, str, Any]) -> None:
    """Refuse what a public function computes with before it calls the operator.

    Each argument is its name, its type in the schema and its value.
    """
    for name, kind, value in given:
        if said := refused(name, kind, value):
            raise RuntimeError(f"{operator}: '{name}' {said}")


def must_be_dense(operator: str, **tensors: Tensor | None) -> None:
    """Refuse tensors in memory that a public function could not view."""
    for name, tensor in tensors.items():
        if isinstance(tensor, Tensor) and (said := sparse(tensor)):
            raise RuntimeError(f"{operator}: '{name}' {said}")


def must_fit(operator: str, kinds: Iterable[tuple[str, str]], values: Any) -> None:
    """Refuse arguments that the schema does not take: torch.compile traces this."""
    for (name, kind), value in zip(kinds, values):
        if expected := expected_of(kind, value):
            said = f"is {shown(value)}, expected {expected}"
            raise TypeError(f"{operator}: '{name}' {said}")


def explain(error: Exception, operator: Any, arguments: Sequence[Any]) -> None:
    """Let the error of a failed call name the argument that caused it, if one did.

    If none did, a plain error gets the operator's name in front.
    """
    name = operator._schema.name.split("::")[1]
    name = name.removesuffix("_backward")
    given = [
        (argument.name, str(argument.type), value)
        for argument, value in zip(operator._schema.arguments, arguments)
    ]
    found = (f"'{one[0]}' {said}" for one in given if (said := refused(*one)))
    if said := next(found, "") or differing(given):
        sentence = f"{name}: {said}"
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
    if "Tensor" in kind:
        return "" if value is None else of_tensor(name, value)
    if expected := range_of(name, value):
        return f"is {shown(value)}, expected {expected}"
    return ""


def of_tensor(name: str, tensor: Tensor) -> str:
    """What is wrong with a tensor whose sizes do not matter; "" if nothing is."""
    if is_lazy(tensor):
        return "is a parameter without sizes, expected a tensor"
    if said := sparse(tensor):
        return said
    device = tensor.device.type
    if device not in TAKEN:
        return f"is on {device}, expected cpu or cuda"
    if tensor.dim() > AXES:
        return f"has {tensor.dim()} axes, expected at most {AXES}"
    if takes(tensor, name):
        return ""
    whole = WHOLE_NUMBERS.get(name)
    expected = named(whole) if whole else dtypes(device)
    return f"is {named(tensor.dtype)} on {device}, expected {expected}"


def sparse(tensor: Tensor) -> str:
    """Which other layout than strided a tensor has; "" if it is strided."""
    if tensor.is_nested:
        return "is nested, expected a dense tensor"
    if tensor.layout is not torch.strided:
        return f"is {named(tensor.layout).strip('_')}, expected a dense tensor"
    return ""


def takes(tensor: Tensor, name: str = "") -> bool:
    """Whether kernels for its dtype exist on its device; they read dense tensors."""
    if sparse(tensor):
        return False
    if name in WHOLE_NUMBERS:
        return tensor.dtype is WHOLE_NUMBERS[name]
    return tensor.dtype in TAKEN.get(tensor.device.type, ())


def differing(given: Iterable[tuple[str, str, Any]]) -> str:
    """Which tensor is not of the first one's dtype, or on its device; "" if none is."""
    tensors = [
        (name, value)
        for name, kind, value in given
        if "Tensor" in kind and value is not None
    ]
    for name, tensor in tensors[1:]:
        first_name, first = tensors[0]
        if tensor.device != first.device:
            return (
                f"'{name}' is on {tensor.device}, '{first_name}' is on {first.device}, "
                "expected the same device"
            )
        other = name in WHOLE_NUMBERS or name in SUMS
        if tensor.dtype != first.dtype and not other:
            return (
                f"'{name}' is {named(tensor.dtype)}, '{first_name}' is "
                f"{named(first.dtype)}, expected the same dtype"
            )
    return ""


def dtypes(device: str) -> str:
    """The dtypes of one device, in words."""
    *others, last = map(named, TAKEN[device])
    return f"{', '.join(others)} or {last}"


def named(kind: torch.dtype | torch.layout) -> str:
    """float32, without `torch.`."""
    return str(kind).removeprefix("torch.")


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
        return "" if is_number(value) else "a number"
    if kind == "str":
        return "" if isinstance(value, str) else "a string"
    return ""


def range_of(name: str, value: Any) -> str:
    """What an option takes; "" if the value will do."""
    if name == "eps":
        return "" if value > 0 else "more than 0"
    if name not in LEAST:
        return ""
    several = isinstance(value, (list, tuple))
    numbers = [n for n in (value if several else [value]) if isinstance(n, int)]
    if all(LEAST[name] <= number <= MOST for number in numbers):
        return ""  # or a symbol, which is no int
    words = "numbers" if several else "a number"
    return f"{words} from {LEAST[name]} to {MOST}"


def is_whole(value: Any) -> bool:
    """Whether the dispatcher takes it for an integer of 64 bits."""
    if isinstance(value, torch.SymInt):
        return True
    try:
        return -(2**63) <= index(value) < 2**63
    except (TypeError, ValueError, RuntimeError):
        return False  # no whole number, or several


def is_number(value: Any) -> bool:
    """Whether the dispatcher takes it for a number in double."""
    try:
        return hasattr(value, "__float__") and float(value) is not None
    except (TypeError, ValueError, OverflowError, RuntimeError):
        return False  # several numbers, or too large


def shown(value: Any) -> str:
    """A value as a message quotes it; of a long one, or an object, the type."""
    if isinstance(value, PLAIN) and len(repr(value)) <= 60:
        return repr(value)
    kind = type(value)
    return f"of type {kind.__module__}.{kind.__name__}".replace("builtins.", "")
