# SPDX-License-Identifier: MIT
"""What PyTorch wants to know of an operator besides its kernels: one object holds it.

    setup_context, backward   what autograd saves, and how a gradient goes back
    jvp                       forward mode: how a tangent goes along
    vmap                      what a batch axis in any argument means
    fake                      the results' sizes, for torch.compile and torch.export

`register` hands them to the dispatcher, so that torch.ops.convlab.conv2d itself
differentiates, vectorises, compiles and exports, whoever calls it. `vmap` and `fake` go
through torch.library. The derivatives go through a kernel of our own (_autograd.py).
Autocast goes through another (_autocast.py), and needs no rule.

The functions of this package call operators by the shortest way: `convlab.conv2d(...)`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.library import Library, register_fake, register_vmap

from convlab_ext import _autocast
from convlab_ext._autograd import kernel_of, shortest
from convlab_ext._refusals import AXES, explain, takes

_libraries: list[Library] = []  # a kernel lives as long as its Library


class Operators:
    """The operators of one namespace, as functions: `convlab.conv2d(...)`.

    They take and give what those of torch.ops do, in less time.
    """

    def __init__(self, namespace: str) -> None:
        """Without any; `register` adds them."""
        self._namespace = getattr(torch.ops, namespace)

    def __getattr__(self, name: str) -> Any:
        """Of one that has no rules yet."""
        return getattr(self._namespace, name)


@functools.cache
def operators(namespace: str) -> Operators:
    """The operators of `namespace`, the same object each time."""
    return Operators(namespace)


convlab = operators("convlab")


class Rules:
    """The rules of one operator; a subclass for each.

    `ops` is the namespace that the operator belongs to (torch.ops.convlab): rules
    call the operators of their own namespace. Static shapes or symbols, plain tensors
    or those of torch.func: a rule sees tensors and calls operators, and need not care.
    """

    name: str  # conv2d
    #: the same results of operators that have derivatives of their own; where it is
    #: there, derivatives go through it, and need none of the next three rules
    composition: Callable[..., Any] | None = None

    def __init__(self, namespace: str) -> None:
        """Of the operator of this namespace."""
        self.namespace = namespace
        self.ops = operators(namespace)
        self.operator = getattr(getattr(torch.ops, namespace), self.name).default

    def _missing(self, purpose: str, rule: str) -> NotImplementedError:
        """What to write where."""
        file = type(self).__module__.replace(".", "/") + ".py"
        return NotImplementedError(
            f"{self.name} has no rule for {purpose}: write `{rule}` in {file}"
        )

    def fake(self, *arguments: Any) -> Any:
        """Empty results of the right sizes, from arguments without data."""
        raise self._missing("sizes", "fake")

    def setup_context(self, ctx: Any, inputs: Any, output: Any) -> None:
        """Keep in ctx what backward and jvp need."""
        raise self._missing("gradients", "setup_context")

    def backward(self, ctx: Any, *grad_outputs: Any) -> Any:
        """A gradient for each argument, None where there is none."""
        raise self._missing("gradients", "backward")

    def jvp(self, ctx: Any, *tangents: Any) -> Any:
        """The tangents of the results; that of an argument may be None."""
        raise self._missing("forward mode", "jvp")

    def vmap(self, info: Any, in_dims: Any, *arguments: Any) -> Any:
        """The results with a batch axis, and where in each it is."""
        raise self._missing("torch.vmap", "vmap")


def register(rules: Rules) -> None:
    """Hand the rules of an operator to PyTorch."""
    qualified = f"{rules.namespace}::{rules.name}"
    register_fake(qualified, explained(rules))
    register_vmap(qualified, over_examples(rules))
    kernel = completed(rules.operator, kernel_of(rules))
    library = Library(rules.namespace, "FRAGMENT")
    library.impl(rules.name, kernel, "Autograd")
    if rules.name in _autocast.RESULT:
        for device, key in _autocast.KEYS.items():
            casting = _autocast.kernel_of(rules.name, rules.operator, device)
            library.impl(rules.name, casting, key)
    _libraries.append(library)
    setattr(rules.ops, rules.name, shortest(rules))


def completed(operator: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, with all arguments: PyTorch leaves out defaults at the end."""
    if not any(argument.has_default_value() for argument in operator._schema.arguments):
        return function

    def call(*arguments: Any) -> Any:
        return function(*arguments, *left_out(operator, arguments))

    return call


def left_out(operator: Any, arguments: Sequence[Any]) -> list[Any]:
    """The default values of the arguments behind these."""
    rest = operator._schema.arguments[len(arguments) :]
    return [argument.default_value for argument in rest]


def explained(rules: Rules) -> Callable[..., Any]:
    """The rule `fake`, whose errors name the operator and the argument."""

    complete = completed(rules.operator, rules.fake)

    def fake(*arguments: Any) -> Any:
        try:
            return complete(*arguments)
        except Exception as error:
            explain(error, rules.operator, arguments)
            raise

    return fake


def over_examples(rules: Rules) -> Callable[..., Any]:
    """The rule `vmap`; where there are no examples, the rule `fake` gives the sizes.

    `fake` also says what is wrong with the arguments of one example.
    """
    fake = explained(rules)

    def vmap(info: Any, in_dims: Any, *arguments: Any) -> Any:
        rest = left_out(rules.operator, arguments)
        arguments, in_dims = (*arguments, *rest), (*in_dims, *[None] * len(rest))
        if info.batch_size > 0:
            try:
                return _autocast.over_examples(
                    rules.name, rules.vmap, info, in_dims, arguments
                )
            except Exception:
                fake(*one_of(in_dims, arguments))
                raise
        found = fake(*one_of(in_dims, arguments))
        if isinstance(found, torch.Tensor):
            return found.new_empty(0, *found.shape), 0
        none = tuple(result.new_empty(0, *result.shape) for result in found)
        return none, (0,) * len(none)

    return vmap


def one_of(in_dims: Any, arguments: Any) -> list[Any]:
    """The arguments of one example, with tensors that have no numbers."""
    return [
        without_axis(argument, axis) if isinstance(axis, int) else argument
        for argument, axis in zip(arguments, in_dims)
    ]


def without_axis(tensor: torch.Tensor, axis: int) -> torch.Tensor:
    """A tensor like one example of a batch that may have none."""
    sizes = [size for i, size in enumerate(tensor.shape) if i != axis]
    return tensor.new_empty(sizes)


def same_kind(*tensors: torch.Tensor | None) -> None:
    """Refuse tensors of two dtypes or on two devices, and those without a kernel."""
    there = [t for t in tensors if t is not None]
    kinds = {(t.dtype, t.device) for t in there}
    right = len(kinds) == 1 and all(takes(t) and t.dim() <= AXES for t in there)
    torch._check(right, lambda: f"expected one floating dtype and device, got {kinds}")


def sizes(name: str, tensor: torch.Tensor, text: str) -> torch.Size:
    """The sizes of a tensor that has the axes of the text: "(N, IC)" or "(..., D)"."""
    axes, more = text.count(",") + 1, text.startswith("(...")
    right = tensor.dim() >= axes - 1 if more else tensor.dim() == axes
    torch._check(right, lambda: f"'{name}' must be {text}, got {tuple(tensor.shape)}")
    return tensor.shape


def broadcast(input: torch.Tensor, other: torch.Tensor) -> torch.Size:
    """The common sizes of two tensors that stretch; others are refused."""
    try:
        return torch.broadcast_shapes(input.shape, other.shape)
    except RuntimeError as error:
        raise RuntimeError(
            f"'input' {tuple(input.shape)} and 'other' {tuple(other.shape)} cannot be "
            "broadcast"
        ) from error


def total(*terms: torch.Tensor | None) -> torch.Tensor | None:
    """The sum of those that are there; None if none is."""
    there = [term for term in terms if term is not None]
    return sum(there[1:], start=there[0]) if there else None


def is_row_major(tensor: torch.Tensor) -> bool:
    """Whether a tensor is dense and row-major. Sparse tensors cannot be asked."""
    return tensor.layout is torch.strided and tensor.is_contiguous()


def as_in_memory(tensor: torch.Tensor) -> tuple[list[int], list[int]]:
    """The order of axes in which a tensor lies in memory, and the way back.

    A row-major result in this order has the layout of the tensor, as PyTorch's results
    element by element have it.
    """
    axes, strides = range(tensor.dim()), tensor.stride()
    if not all(stride > 0 for stride in strides):  # then no order is the right one
        return list(axes), list(axes)
    place = [  # of an axis: as many have larger strides (symbols cannot be sorted)
        sum(
            strides[b] > strides[a] or (strides[b] == strides[a] and b < a)
            for b in axes
        )
        for a in axes
    ]
    return [place.index(axis) for axis in axes], place


def unread(kept: torch.Tensor | None, shape: Any, like: torch.Tensor) -> torch.Tensor:
    """A tensor; if it was not kept, one 0 stretched, that no kernel reads."""
    return like.new_zeros(()).expand(shape) if kept is None else kept


def joined(
    tensor: torch.Tensor, batched: int | None, axis: int, B: int
) -> torch.Tensor:
    """A batch axis joined with `axis`, B times the same where there is none (vmap)."""
    if batched is not None:
        return tensor.movedim(batched, axis).flatten(axis, axis + 1)
    sizes = list(tensor.shape)
    sizes.insert(axis, B)
    return tensor.unsqueeze(axis).expand(sizes).flatten(axis, axis + 1)


def in_front(tensor: torch.Tensor, batched: int | None, B: int) -> torch.Tensor:
    """A batch axis in front, B times the same where there is none (for vmap)."""
    if batched is None:
        return tensor.expand(B, *tensor.shape)
    return tensor.movedim(batched, 0)
