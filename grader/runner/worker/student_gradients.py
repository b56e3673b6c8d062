# SPDX-License-Identifier: MIT
"""PyTorch's errors about the gradients of a backward, with the argument's name.

PyTorch counts: from 0 and tensors alone where a shape is wrong ("at index 1"), from 1
and all arguments where there should be none ("at position 2").
"""

from __future__ import annotations

import inspect
import linecache
import re
from collections.abc import Callable, Mapping, Sequence
from types import CodeType
from typing import Any

import torch

from grader.runner.worker.student_rules import quoted

_SHAPE = re.compile(
    r"unction (\w+) returned an invalid gradient at index (\d+) - got (\[.*?\]) but "
    r"expected shape compatible with (\[.*?\])"
)
_EXTRA = re.compile(
    r"unction (\w+) returned a gradient different than None at position (\d+), but the "
    r"corresponding forward input was not a Variable"
)
_COUNT = re.compile(
    r"unction (\w+) returned an incorrect number of gradients "
    r"\(expected (\d+), got (\d+)\)"
)


def in_words(
    error: Exception, results: Sequence[Any], present: Mapping[str, Sequence[int]]
) -> str:
    """A sentence for an exception of torch.autograd.grad; "" if it is another one, or
    if the argument cannot be told. `present` are the shapes of the operator's inputs in
    this call, by name.
    """
    text = str(error)
    shape, extra = _SHAPE.search(text), _EXTRA.search(text)
    match = shape or extra or _COUNT.search(text)
    node = _node(results, match[1]) if match else None
    if match is None or node is None:
        return ""
    names = arguments(node._forward_cls)
    where = _only_return(node._forward_cls.backward)
    if not shape and not extra:
        takes = f" ({', '.join(names)})" if names else ""
        return (
            f"backward returned {_counted(match[3])}, but forward takes {match[2]} "
            f"arguments{takes}: return one for each argument in their order, and None "
            f"for each that is no tensor or needs none{where}"
        )
    if shape:
        names = [name for name in names if name in present]
        if len(names) != len(node.next_functions):
            return ""
    at = int(match[2]) - (0 if shape else 1)
    if at >= len(names):
        return ""
    if shape:
        fitting = [name for name in names if str(list(present[name])) == shape[3]]
        return (
            f"backward returned a gradient of shape {shape[3]} for '{names[at]}', "
            f"whose shape is {shape[4]}: {_advice(names[at], fitting)}{where}"
        )
    return (
        f"backward returned a gradient for '{names[at]}', which is no tensor in this "
        f"call: return None for it{where}"
    )


def _counted(number: str) -> str:
    return "1 gradient" if number == "1" else f"{number} gradients"


def _advice(name: str, fitting: Sequence[str]) -> str:
    """What to do about a gradient of a wrong shape, which has that of `fitting`."""
    if fitting:
        return (
            f"'{fitting[0]}' has the shape of this gradient, so return the gradients "
            "in the order of forward's arguments"
        )
    return f"the gradient of '{name}' has the shape of '{name}'"


def _node(results: Sequence[Any], name: str) -> Any:
    """The student's function in the graph behind the results, by its name."""
    waiting, seen = [result.grad_fn for result in results], set()
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        ours = isinstance(node, torch.autograd.function.BackwardCFunction)
        if ours and type(node).__name__ == name:
            return node
        waiting += [edge[0] for edge in node.next_functions]
    return None


def arguments(function: type[torch.autograd.Function]) -> list[str]:
    """What forward takes besides ctx, by name; nothing if it takes any number."""
    parameters = list(inspect.signature(function.forward).parameters.values())
    if any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters):
        return []
    plain = function.setup_context is torch.autograd.Function.setup_context
    return [p.name for p in parameters][1 if plain else 0 :]


def _only_return(function: Callable[..., Any]) -> str:
    """The line of a function's return as a sentence ends with it; "" if it has two."""
    plain = inspect.unwrap(function)  # of once_differentiable
    code: CodeType | None = getattr(plain, "__code__", None)
    if code is None:
        return ""
    numbers = sorted({line for _, _, line in code.co_lines() if line})
    lines = [(n, linecache.getline(code.co_filename, n).strip()) for n in numbers]
    found = [(n, text) for n, text in lines if text.startswith("return")]
    if len(found) != 1:
        return ""
    return f" ({code.co_filename}:{found[0][0]}: {quoted(found[0][1])})"
