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

from convlab_ext._refusals import explain, must_fit

if TYPE_CHECKING:
    from convlab_ext._rules import Rules

_below_autograd = torch._C._AutoDispatchBelowAutograd
_in_torch_func = torch._C._are_functorch_transforms_active
_requires_grad = torch._C._any_requires_grad
_included = torch._C._dispatch_tls_local_include_set  # keys a thread has switched on
_excluded = torch._C._dispatch_tls_local_exclude_set  # and off
_is_compiling = torch.compiler.is_compiling
_is_grad_enabled = torch.is_grad_enabled


def kernel_of(rules: Rules) -> Callable[..., Any]:
    """What the dispatcher calls first, whether or not there is anything to record."""
    operator, composition = rules.operator, rules.composition
    record, end = recorder(rules), end_of_tensors(operator)

    def kernel(*arguments: Any) -> Any:
        backward = _is_grad_enabled() and _requires_grad(*arguments[:end])
        try:
            if not backward and forward_ad._current_level < 0:
                with _below_autograd():
                    return operator(*arguments)
            if _in_torch_func() and not composition:
                with enable_single_level_autograd_function():
                    return record(*arguments)
            return record(*arguments)
        except Exception as error:
            explain(error, operator, arguments)
            raise

    return kernel


def end_of_tensors(operator: Any) -> int:
    """From this argument on none is a tensor. A look into lists of numbers costs."""
    kinds = [str(argument.type) for argument in operator._schema.arguments]
    return 1 + max(i for i, kind in enumerate(kinds) if "Tensor" in kind)


@functools.cache
def recorder(rules: Rules) -> Callable[..., Any]:
    """What makes a node of the graph: of an operator, or of those it is composed of."""
    return rules.composition or _function(rules).apply


def shortest(rules: Rules) -> Callable[..., Any]:
    """The operator, but at once that part of its way which is needed.

    torch.ops goes from Python into the dispatcher, which comes back to our kernel in
    Python, which goes into the dispatcher again. If there is nothing to record, the
    dispatcher is told so at once. If there is, it is asked only where something may be
    at work that has its turn before Autograd: autocast, torch.func, a mode, a tracer.
    """
    operator, record = rules.operator, recorder(rules)
    usual, end = _keys_of_a_new_thread(), end_of_tensors(operator)
    schema = operator._schema
    name = schema.name.split("::")[1]
    kinds = [(one.name, str(one.type)) for one in schema.arguments]

    def call(*arguments: Any) -> Any:
        if _is_compiling():
            must_fit(name, kinds, arguments)
            return operator(*arguments)
        try:
            if _in_torch_func() or has_torch_function(arguments):
                return operator(*arguments)
            backward = _is_grad_enabled() and _requires_grad(*arguments[:end])
            if not backward and forward_ad._current_level < 0:
                with _below_autograd():
                    return operator(*arguments)
            if usual == (_included().raw_repr(), _excluded().raw_repr()):
                return record(*arguments)
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

    operator, setup_context = rules.operator, rules.setup_context

    def forward(ctx: Any, *arguments: Any) -> Any:
        if _in_torch_func():
            output = at_outer_levels(operator, *arguments)
        else:
            with _below_autograd():
                output = operator(*arguments)
        setup_context(ctx, arguments, output)
        return output

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
        "backward": backward,
        "jvp": jvp,
    }
    static = {name: staticmethod(method) for name, method in methods.items()}
    return type(rules.name, (_SingleLevelFunction,), static)
