# SPDX-License-Identifier: MIT
"""The rules of an exhibit of lab 05 that has none: only PyTorch's documented way.

A copy is convlab_ext/<op>.py in the exhibit's package. The public function calls the
dispatcher's operator. torch.library.register_autograd registers its gradient. There is
no fake kernel, no vmap and no second derivative.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from signatures.of_exhibits import ALL

NAME = Path(__file__).stem
SIGNATURE = ALL.get(NAME)  # none where this file is not a copy
NAMESPACE = "convlab"


def rules(namespace: str) -> None:
    """Register the gradient, if there is an operator for it."""
    if hasattr(getattr(torch.ops, namespace), f"{NAME}_backward"):
        torch.library.register_autograd(
            f"{namespace}::{NAME}", _backward, setup_context=_keep
        )


def call(*inputs: Any, **named: Any) -> Any:
    """The operator's results, of inputs and options as PyTorch orders them."""
    assert SIGNATURE
    given = {**dict(zip(SIGNATURE.arguments, inputs)), **named}
    options = {o.name: given[o.name] for o in SIGNATURE.options if o.name in given}
    given |= SIGNATURE.resolve(options)
    operator = getattr(getattr(torch.ops, NAMESPACE), NAME).default
    found = operator(*(given.get(one.name) for one in operator._schema.arguments))
    if isinstance(found, torch.Tensor):
        return found
    results = tuple(found)[: len(SIGNATURE.outputs)]
    return results if len(results) > 1 else results[0]


globals()[NAME] = call


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Of what forward was handed and gave, what backward's schema names."""
    assert SIGNATURE
    space = getattr(torch.ops, NAMESPACE)
    forward = getattr(space, NAME).default._schema.arguments
    results = (output,) if isinstance(output, torch.Tensor) else tuple(output)
    made = [one.name for one in (*SIGNATURE.outputs, *SIGNATURE.saved)]
    by_name = {one.name: value for one, value in zip(forward, inputs)}
    ctx.names = [one.name for one in forward]
    ctx.there = {name for name, value in by_name.items() if value is not None}
    ctx.sizes = {n: v.shape for n, v in by_name.items() if isinstance(v, torch.Tensor)}
    wanted = getattr(space, f"{NAME}_backward").default._schema.arguments
    by_name |= dict(zip(made, results))
    kept = {one.name: by_name[one.name] for one in wanted if one.name in by_name}
    ctx.tensors = [n for n, v in kept.items() if isinstance(v, torch.Tensor)]
    ctx.others = {n: v for n, v in kept.items() if n not in ctx.tensors}
    ctx.save_for_backward(*(kept[name] for name in ctx.tensors))


def _backward(ctx: Any, *grads: torch.Tensor) -> tuple[Any, ...]:
    """A gradient for each argument of forward."""
    assert SIGNATURE
    operator = getattr(getattr(torch.ops, NAMESPACE), f"{NAME}_backward").default
    needed = dict(zip(ctx.names, ctx.needs_input_grad))
    asked = [needed.get(n, False) and n in ctx.there for n in SIGNATURE.gradients]
    given = {**ctx.others, **dict(zip(ctx.tensors, ctx.saved_tensors))}
    given |= {f"grad_{one.name}": g for one, g in zip(SIGNATURE.outputs, grads)}
    given |= {f"{name}_size": list(size) for name, size in ctx.sizes.items()}
    given["output_mask"] = asked
    found = operator(*(given.get(one.name) for one in operator._schema.arguments))
    results = (found,) if isinstance(found, torch.Tensor) else tuple(found)
    named = dict(zip(SIGNATURE.gradients, results))
    right = dict(zip(SIGNATURE.gradients, asked))
    return tuple(named[name] if right.get(name) else None for name in ctx.names)
