# SPDX-License-Identifier: MIT
"""Private names of PyTorch in lab 05: the whole list, each with what it has to do.

A public way exists for none of them. A new version of PyTorch may rename one or change
it: then a test here fails and says which, before any other test fails for it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.autograd import forward_ad

from tests.labs.extension import LAB

FOLDERS = ("convlab_ext", "train", "nets")
C = torch._C


def below_autograd() -> bool:
    """In this block no node is recorded."""
    x = torch.ones(2, requires_grad=True)
    with C._AutoDispatchBelowAutograd():
        return not torch.neg(x).requires_grad


def in_torch_func() -> bool:
    """Whether torch.func is at work."""
    seen = []

    def look(x: Tensor) -> Tensor:
        seen.append(C._are_functorch_transforms_active())
        return x.sum()

    torch.func.grad(look)(torch.ones(2))
    return seen == [True] and not C._are_functorch_transforms_active()


def keys_of_a_thread() -> bool:
    """Autocast switches keys on, no_grad and others do not."""
    included, excluded = (
        C._dispatch_tls_local_include_set,
        C._dispatch_tls_local_exclude_set,
    )
    usual = included().raw_repr(), excluded().raw_repr()
    with torch.autocast("cpu"):
        return (included().raw_repr(), excluded().raw_repr()) != usual


def any_requires_grad() -> bool:
    """Of any arguments, tensors or not."""
    x = torch.ones(2)
    with_gradient = C._any_requires_grad(x, None, [1], x.clone().requires_grad_())
    return with_gradient and not C._any_requires_grad(x, None, "none")


def level_of_forward_mode() -> bool:
    """Below 0 where no dual level is open."""
    before = forward_ad._current_level
    with forward_ad.dual_level():
        return before < 0 <= forward_ad._current_level


def forward_mode_switch() -> bool:
    """Forward mode goes off and on again in a block."""
    kinds = []
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.ones(2), torch.ones(2))
        for mode in (False, True):
            with forward_ad._set_fwd_grad_enabled(mode=mode):
                kinds.append(forward_ad.unpack_dual(dual * 2).tangent is not None)
    return kinds == [False, True]


def single_level_function() -> bool:
    """A Function of one level, which torch.func takes if that is switched on."""
    from torch._functorch.utils import enable_single_level_autograd_function
    from torch.autograd.function import _SingleLevelFunction

    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return 3 * grad

    def key(ctx: Any) -> tuple[int, ...]:
        return (ctx._autograd_function_id,)

    rules: dict[str, Callable[..., Any]] = {
        "forward": lambda x: 3 * x,
        "setup_context": lambda ctx, inputs, output: None,
        "backward": backward,
        "_compiled_autograd_key": key,
    }
    methods = {name: staticmethod(rule) for name, rule in rules.items()}
    function: Any = type("Thrice", (_SingleLevelFunction,), methods)
    with enable_single_level_autograd_function():
        x = torch.ones(2, requires_grad=True)
        y: Tensor = function.apply(x)
    (grad,) = torch.autograd.grad(y.sum(), x)
    return bool((grad == 3).all()) and isinstance(key(y.grad_fn)[0], int)


def kernel_of_a_key() -> bool:
    """Whether an operator has a kernel on a dispatch key."""
    has = C._dispatch_has_kernel_for_dispatch_key
    return has("aten::add.Tensor", "CPU") and not has("aten::im2col", "SparseCPU")


def schema() -> bool:
    """Name, and name, type and default of each argument."""
    of_conv2d = torch.ops.aten.conv2d.default._schema
    name, bias = of_conv2d.name, of_conv2d.arguments[2]
    facts = bias.name, str(bias.type), bias.has_default_value(), bias.default_value
    return name == "aten::conv2d" and facts == ("bias", "Optional[Tensor]", True, None)


def number_of_a_node() -> bool:
    """Each node of a graph has a number, a later one a larger one."""
    x = torch.ones(2, requires_grad=True)
    first, second = (x * 2).grad_fn, (x * 3).grad_fn
    return first._sequence_nr() < second._sequence_nr()


USES: dict[str, Callable[[], bool]] = {
    "_AutoDispatchBelowAutograd": below_autograd,
    "_are_functorch_transforms_active": in_torch_func,
    "_dispatch_tls_local_include_set": keys_of_a_thread,
    "_dispatch_tls_local_exclude_set": keys_of_a_thread,
    "_any_requires_grad": any_requires_grad,
    "_current_level": level_of_forward_mode,
    "_set_fwd_grad_enabled": forward_mode_switch,
    "_SingleLevelFunction": single_level_function,
    "enable_single_level_autograd_function": single_level_function,
    "_autograd_function_id": single_level_function,
    "_dispatch_has_kernel_for_dispatch_key": kernel_of_a_key,
    "_schema": schema,
    "_sequence_nr": number_of_a_node,
}
DOCUMENTED = {"_C", "_check"}  # a module; and torch._check has a page in PyTorch's docs


def names_in(tree: ast.AST) -> Iterator[str]:
    """Private attributes, and what is imported from private modules of torch."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and private(node.attr):
            yield node.attr
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("torch"):
            inside = "._" in node.module
            yield from (a.name for a in node.names if inside or private(a.name))


def private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def made_here(tree: ast.AST) -> Iterator[str]:
    """Functions, classes and attributes that a file defines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def test_the_list_is_that_of_the_files():
    trees = [
        ast.parse(file.read_text(encoding="utf-8"))
        for folder in FOLDERS
        for file in sorted((LAB / folder).glob("*.py"))
    ]
    own = {name for tree in trees for name in made_here(tree)}
    used = {name for tree in trees for name in names_in(tree)}
    assert used - own - DOCUMENTED == set(USES)


@pytest.mark.parametrize("name", USES)
def test_a_private_name_is_there_and_does_what_lab_05_needs(name: str):
    said = f"PyTorch {torch.__version__}: {name} is gone or changed; lab 05 needs it"
    try:
        right = USES[name]()
    except Exception as error:
        raise AssertionError(said) from error
    assert right, said
