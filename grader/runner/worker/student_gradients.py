# SPDX-License-Identifier: MIT
"""Explains PyTorch's errors about the gradients of a backward, with the argument's
name.

If a shape is wrong, PyTorch counts only tensors, from 0 ("at index 1"). If there should
be no gradient, it counts all arguments, from 1 ("at position 2").
"""

from __future__ import annotations

import ast
import inspect
import linecache
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import CodeType
from typing import Any

import torch
from torch.autograd.function import BackwardCFunction

from grader.runner.worker.student_rules import quoted

REORDERED = "the gradients have the right shapes in the order of forward's arguments"
CUTS = ("data", "detach", "detach_", "no_grad")  # take a tensor out of the graph

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


def remember_shapes() -> None:
    """Keep at each node of autograd's graph the shapes that its backward returned:
    PyTorch's errors speak of one of them alone.
    """
    apply = BackwardCFunction.apply

    def remembered(node: Any, *grads: Any) -> Any:
        made = apply(node, *grads)  # type: ignore[no-untyped-call]
        several = made if isinstance(made, tuple | list) else (made,)
        node.convlab_returned = [
            list(one.shape) if isinstance(one, torch.Tensor) else None
            for one in several
        ]
        return made

    BackwardCFunction.apply = remembered  # type: ignore[method-assign]


def in_words(
    error: Exception,
    results: Sequence[Any],
    given: Mapping[str, torch.Tensor],
    factors: Sequence[str] = (),
) -> str:
    """A sentence for an exception of torch.autograd.grad; "" if it is another one, or
    if the argument cannot be told. `given` are the operator's inputs in this call, and
    `factors` those that multiply each other.
    """
    text = str(error)
    shape, extra = _SHAPE.search(text), _EXTRA.search(text)
    match = shape or extra or _COUNT.search(text)
    found = [n for n in nodes(results) if match and type(n).__name__ == match[1]]
    if match is None or not found:
        return ""
    node = found[0]
    names = arguments(node._forward_cls)
    where = _only_return(node._forward_cls.backward)
    if not shape and not extra:
        takes = f" ({', '.join(names)})" if names else ""
        return (
            f"backward returned {_counted(match[3])}, but forward takes {match[2]} "
            f"arguments{takes}. Return one value for each argument, in the same order. "
            f"Return None if an argument is not a tensor or needs no gradient{where}"
        )
    at = int(match[2]) - 1
    if shape:
        tensors = [i for i, name in enumerate(names) if name in given]
        if len(tensors) != len(node.next_functions):
            return ""
        at = tensors[int(match[2])]
    if at >= len(names):
        return ""
    advice = f"the gradient of '{names[at]}' must have the shape of '{names[at]}'"
    if not shape:
        advice = "return None for it"
    if is_reordered(node, [given.get(name) for name in names]):
        advice = REORDERED
    elif shape and (kept := output_for_input(node, results, given, factors)):
        advice = kept
    if shape:
        return (
            f"backward returned a gradient of shape {shape[3]} for '{names[at]}' "
            f"of shape {shape[4]}: {advice}{where}"
        )
    return (
        f"backward returned a gradient for '{names[at]}', which is not a tensor in "
        f"this call: {advice}{where}"
    )


def _counted(number: str) -> str:
    return "1 gradient" if number == "1" else f"{number} gradients"


def is_reordered(node: Any, tensors: Sequence[torch.Tensor | None]) -> bool:
    """Whether what backward returned has exactly the shapes that are wanted, but in
    another order. `tensors` are forward's arguments, None where one is no tensor.
    """
    returned = getattr(node, "convlab_returned", [])
    needed = zip(tensors, node.needs_input_grad)
    wanted = [list(t.shape) if t is not None and need else None for t, need in needed]
    if len(returned) != len(wanted) or returned == wanted:
        return False
    found = [
        sorted(one for one in some if one is not None) for some in (returned, wanted)
    ]
    return found[0] == found[1]


def output_for_input(
    node: Any,
    results: Sequence[Any],
    given: Mapping[str, torch.Tensor],
    factors: Sequence[str],
) -> str:
    """That forward has saved its output in the place of a factor, without which the
    other one has no gradient; "" if it has saved all of them, or anything else.
    """
    if not factors or not all(given[name].requires_grad for name in factors):
        return ""
    try:
        saved = list(node.saved_tensors)
    except RuntimeError:  # freed: backward has run
        return ""
    for kept in vars(node).values():
        saved += kept if isinstance(kept, tuple | list) else (kept,)
    numbers = [
        t for t in saved if isinstance(t, torch.Tensor) and t.dtype.is_floating_point
    ]
    outputs = [t for t in numbers if _among(t, results)]
    rest = [t for t in numbers if not _among(t, results)]
    lost = [name for name in factors if not _among(given[name], rest)]
    if not outputs or not lost or not all(_among(t, given.values()) for t in rest):
        return ""
    return f"forward saved its output, but not '{lost[0]}', which backward needs"


def _among(tensor: torch.Tensor, others: Iterable[torch.Tensor]) -> bool:
    """Whether these are the numbers of one of the others, in the same memory."""
    key = tensor.data_ptr(), tensor.numel()
    return any((other.data_ptr(), other.numel()) == key for other in others)


def nodes(results: Sequence[Any]) -> Iterator[Any]:
    """The student's functions in the graph behind the results."""
    waiting, seen = [result.grad_fn for result in results], set()
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if isinstance(node, BackwardCFunction):
            yield node
        waiting += [edge[0] for edge in node.next_functions]


def arguments(function: type[torch.autograd.Function]) -> list[str]:
    """What forward takes besides ctx, by name; nothing if it takes any number."""
    parameters = list(inspect.signature(function.forward).parameters.values())
    if any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters):
        return []
    plain = function.setup_context is torch.autograd.Function.setup_context
    return [p.name for p in parameters][1 if plain else 0 :]


def line_of_cut(path: str, *names: str) -> str:
    """The first line of these functions or classes that takes a tensor out of the
    graph, as a sentence ends with it; "" if there is none.
    """
    lines = linecache.getlines(path)
    for part in ast.parse("".join(lines)).body:
        if isinstance(part, ast.FunctionDef | ast.ClassDef) and part.name in names:
            for node in ast.walk(part):
                if isinstance(node, ast.Attribute) and node.attr in CUTS:
                    return f" ({path}:{node.lineno}: {quoted(lines[node.lineno - 1])})"
    return ""


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
