# SPDX-License-Identifier: MIT
"""What PyTorch wants to know of an operator besides its kernels: one object holds it.

    setup_context, backward   what autograd saves, and how a gradient goes back
    jvp                       forward mode: how a tangent goes along
    vmap                      what a batch axis in any argument means
    fake                      the results' sizes, for torch.compile and torch.export
    check                     what `fake` need not ask: it is asked before

`register` hands them to the dispatcher, so that torch.ops.convlab.conv2d itself
differentiates, vectorises, compiles and exports, whoever calls it. Three of them go
through torch.library. The derivatives do not: torch.library.register_autograd makes an
operator that torch.func.grad refuses, and whose tangent in forward mode is zero without
a word. The kernel that `register` puts on the dispatch key Autograd in its place does
what PyTorch's own operators do: it records one node at the level of differentiation
that is at work, and calls the operator again, below that level.

The functions of this package call operators by the shortest way: `convlab.conv2d(...)`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from threading import Thread
from typing import Any

import torch
from torch._functorch.utils import enable_single_level_autograd_function
from torch.autograd import forward_ad
from torch.autograd.function import _SingleLevelFunction
from torch.library import Library, register_autocast, register_fake, register_vmap
from torch.overrides import has_torch_function

from convlab_ext._door import Door

IN_AUTOCAST = torch.float32  # the CPU kernels have no half, so all compute in float

_below_autograd = torch._C._AutoDispatchBelowAutograd
_in_torch_func = torch._C._are_functorch_transforms_active
_included = torch._C._dispatch_tls_local_include_set  # keys a thread has switched on
_excluded = torch._C._dispatch_tls_local_exclude_set  # and off
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

    def __init__(self, namespace: str) -> None:
        """Of the operator of this namespace."""
        self.namespace = namespace
        self.ops = operators(namespace)
        self.operator = getattr(getattr(torch.ops, namespace), self.name).default

    def check(self, door: Door, *arguments: Any) -> None:
        """What has to hold of sizes, dtypes and options, as statements to the door."""

    def fake(self, *arguments: Any) -> Any:
        """Empty results of the right sizes, from arguments without data."""
        raise NotImplementedError(f"{self.name} has no rule for sizes (fake)")

    def setup_context(self, ctx: Any, inputs: Any, output: Any) -> None:
        """Keep in ctx what backward and jvp need."""
        raise NotImplementedError(f"{self.name} has no rule for gradients")

    def backward(self, ctx: Any, *grad_outputs: Any) -> Any:
        """A gradient for each argument, None where there is none."""
        raise NotImplementedError(f"{self.name} has no rule for gradients (backward)")

    def jvp(self, ctx: Any, *tangents: Any) -> Any:
        """The tangents of the results; that of an argument may be None."""
        raise NotImplementedError(f"{self.name} has no rule for forward mode (jvp)")

    def vmap(self, info: Any, in_dims: Any, *arguments: Any) -> Any:
        """The results with a batch axis, and where in each it is."""
        raise NotImplementedError(f"{self.name} has no rule for torch.vmap")


def register(rules: Rules) -> None:
    """Hand the rules of an operator to PyTorch."""
    qualified = f"{rules.namespace}::{rules.name}"
    register_fake(qualified, _behind_the_door(rules))
    register_vmap(qualified, rules.vmap)
    kernel = _autograd_kernel(rules)
    library = Library(rules.namespace, "FRAGMENT")
    library.impl(rules.name, kernel, "Autograd")
    _libraries.append(library)
    setattr(rules.ops, rules.name, _shortest(rules.operator, kernel))
    if not rules.name.endswith("_backward"):
        for device in ("cpu", "cuda"):
            register_autocast(qualified, device, IN_AUTOCAST)


def _behind_the_door(rules: Rules) -> Callable[..., Any]:
    """The rule `fake`, for calls that the kernel would take."""

    def fake(*arguments: Any) -> Any:
        rules.check(Door(rules.name.removesuffix("_backward")), *arguments)
        return rules.fake(*arguments)

    return fake


def _autograd_kernel(rules: Rules) -> Callable[..., Any]:
    """What the dispatcher calls first, whether or not there is anything to record."""
    operator, apply = rules.operator, _function(rules).apply

    def kernel(*arguments: Any) -> Any:
        backward = torch.is_grad_enabled() and torch._C._any_requires_grad(*arguments)
        if not backward and forward_ad._current_level < 0:
            with _below_autograd():
                return operator(*arguments)
        if _in_torch_func():
            with enable_single_level_autograd_function():
                return apply(*arguments)
        return apply(*arguments)

    return kernel


def _shortest(operator: Any, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """`operator`, or at once the kernel that the dispatcher would find for it.

    torch.ops goes from Python into the dispatcher, which comes back to our kernel in
    Python. It is asked only where something may be at work that has its turn before
    Autograd: autocast, torch.func, a mode, a tracer.
    """
    usual = _keys_of_a_new_thread()

    def call(*arguments: Any) -> Any:
        if (
            torch.compiler.is_compiling()
            or (_included().raw_repr(), _excluded().raw_repr()) != usual
            or has_torch_function(arguments)
        ):
            return operator(*arguments)
        return kernel(*arguments)

    return call


@functools.cache
def _keys_of_a_new_thread() -> tuple[int, int]:
    """The keys switched on and off where nothing is at work."""
    keys = []

    def look() -> None:
        keys.append((_included().raw_repr(), _excluded().raw_repr()))

    thread = Thread(target=look)
    thread.start()
    thread.join()
    return keys[0]


def _function(rules: Rules) -> type[_SingleLevelFunction]:
    """The rules as torch.autograd.Function has them, but for one level alone.

    torch.autograd.Function itself would start again at the outermost level.
    """

    def forward(*arguments: Any) -> Any:
        if not _in_torch_func():
            with _below_autograd():
                return rules.operator(*arguments)
        # a Function switches derivatives off; those of outer levels go on
        outer = torch.enable_grad(), forward_ad._set_fwd_grad_enabled(mode=True)
        with outer[0], outer[1], _below_autograd():
            return rules.operator(*arguments)

    methods = {
        "forward": forward,
        "setup_context": rules.setup_context,
        "backward": rules.backward,
        "jvp": rules.jvp,
    }
    static = {name: staticmethod(method) for name, method in methods.items()}
    return type(rules.name, (_SingleLevelFunction,), static)


def total(*terms: torch.Tensor | None) -> torch.Tensor | None:
    """The sum of those that are there; None if none is."""
    there = [term for term in terms if term is not None]
    return sum(there[1:], start=there[0]) if there else None


def in_front(tensor: torch.Tensor, batched: int | None, B: int) -> torch.Tensor:
    """A batch axis in front, B times the same where there is none (for vmap)."""
    if batched is None:
        return tensor.expand(B, *tensor.shape)
    return tensor.movedim(batched, 0)
