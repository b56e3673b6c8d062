# SPDX-License-Identifier: MIT
"""The kernel of an operator on the dispatch key Autograd, made of its rules.

torch.library.register_autograd, the documented way to derivatives, makes an operator
that torch.func.grad refuses, and whose tangent in forward mode is zero without a word:
first_autograd.py shows both. The kernel that `kernel_of` makes does what PyTorch's own
operators do: it records one node at the level of differentiation that is at work, and
calls the operator again, below that level.

It needs private names of PyTorch. With torch 2.15 each was replaced in turn, but the
last two, whose line follows from the code. Without

    _AutoDispatchBelowAutograd               the kernel calls itself without end
    forward_ad._set_fwd_grad_enabled         torch.func.hessian, and a tangent of a
                                             tangent, are wrong and raise nothing
    _SingleLevelFunction, enable_single_level_autograd_function,
    _are_functorch_transforms_active         torch.func.grad, jvp and hessian raise
    _compiled_autograd_key, _autograd_function_id
                                             compiled autograd raises
    _any_requires_grad, forward_ad._current_level
                                             all is right, but each call makes a node
    _dispatch_tls_local_include_set and
    _dispatch_tls_local_exclude_set          all is right by torch.ops (`shortest`)

A PyTorch that lacks one of them raises as this file is imported, or at the first call.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from threading import Thread
from typing import TYPE_CHECKING, Any

import torch
from torch._functorch.utils import enable_single_level_autograd_function
from torch.autograd import forward_ad
from torch.autograd.function import _SingleLevelFunction
from torch.overrides import has_torch_function

from convlab_ext._refusals import explain

if TYPE_CHECKING:
    from convlab_ext._rules import Rules

_below_autograd = torch._C._AutoDispatchBelowAutograd
_in_torch_func = torch._C._are_functorch_transforms_active
_included = torch._C._dispatch_tls_local_include_set  # keys a thread has switched on
_excluded = torch._C._dispatch_tls_local_exclude_set  # and off


def kernel_of(rules: Rules) -> Callable[..., Any]:
    """What the dispatcher calls first, whether or not there is anything to record."""
    operator, composition = rules.operator, rules.composition
    apply = composition or _function(rules).apply

    def kernel(*arguments: Any) -> Any:
        backward = torch.is_grad_enabled() and torch._C._any_requires_grad(*arguments)
        try:
            if not backward and forward_ad._current_level < 0:
                with _below_autograd():
                    return operator(*arguments)
            if _in_torch_func() and not composition:
                with enable_single_level_autograd_function():
                    return apply(*arguments)
            return apply(*arguments)
        except Exception as error:
            explain(error, operator, arguments)
            raise

    return kernel


def shortest(operator: Any, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """`operator`, or at once the kernel that the dispatcher would find for it.

    torch.ops goes from Python into the dispatcher, which comes back to our kernel in
    Python. It is asked only where something may be at work that has its turn before
    Autograd: autocast, torch.func, a mode, a tracer.
    """
    usual = _keys_of_a_new_thread()

    def call(*arguments: Any) -> Any:
        if torch.compiler.is_compiling():
            return operator(*arguments)
        keys = _included().raw_repr(), _excluded().raw_repr()
        if keys == usual and not has_torch_function(arguments):
            return kernel(*arguments)
        try:
            return operator(*arguments)
        except Exception as error:
            explain(error, operator, arguments)
            raise

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
        return at_outer_levels(rules.operator, *arguments)

    def jvp(ctx: Any, *tangents: Any) -> Any:
        if not _in_torch_func():
            return rules.jvp(ctx, *tangents)
        return at_outer_levels(rules.jvp, ctx, *tangents)

    def at_outer_levels(function: Callable[..., Any], *arguments: Any) -> Any:
        # a Function switches derivatives off; those of outer levels go on
        outer = torch.enable_grad(), forward_ad._set_fwd_grad_enabled(mode=True)
        with outer[0], outer[1], _below_autograd():
            return function(*arguments)

    def backward(ctx: Any, *grads: Any) -> Any:
        return rules.backward(ctx, *grads)  # compiled autograd traces no bound method

    def key(ctx: Any) -> tuple[int, ...]:
        return (ctx._autograd_function_id,)  # as torch.autograd.Function has it

    methods = {
        "_compiled_autograd_key": key,
        "forward": forward,
        "setup_context": rules.setup_context,
        "backward": backward,
        "jvp": jvp,
    }
    static = {name: staticmethod(method) for name, method in methods.items()}
    return type(rules.name, (_SingleLevelFunction,), static)
