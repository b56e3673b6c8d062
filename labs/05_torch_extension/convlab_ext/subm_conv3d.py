# SPDX-License-Identifier: MIT
"""subm_conv3d: the public function, and the rules of subm_conv3d, subm_conv3d_backward.

The operator gives (output, rulebook, count): forward searches once which points are
neighbours. It is linear in features and in weight, and the points do not move: the
derivatives of its gradients are once more convolutions at the same points.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from convlab_ext._refusals import MOST
from convlab_ext._rules import (
    Rules,
    convlab,
    register,
    same_kind,
    sizes,
    total,
    unread,
)


def subm_conv3d(
    features: Tensor,
    coordinates: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    dilation: int | tuple[int, int, int] = 1,
) -> Tensor:
    """Features (P, IC) at points (P, 4) become (P, OC), by convlab's kernels."""
    several = isinstance(dilation, (list, tuple))
    numbers = list(dilation) if several else [dilation] * 3
    return convlab.subm_conv3d(features, coordinates, weight, bias, numbers)[0]


class SubmConv3d(Rules):
    """subm_conv3d(features, coordinates, weight, bias, dilation) -> three tensors."""

    name = "subm_conv3d"

    def fake(self, features, coordinates, weight, bias, dilation):
        """(P, OC), and room for as many pairs as there can be."""
        # BEGIN SOLUTION
        P, IC = sizes("features", features, "(P, IC)")
        OC, channels, *kernel = sizes("weight", weight, "(OC, IC, KD, KH, KW)")
        PLACES = kernel[0] * kernel[1] * kernel[2]
        torch._check(channels == IC, lambda: f"'weight' expects {channels}, got {IC}")
        odd = all(size % 2 == 1 for size in kernel)
        torch._check(odd, lambda: f"'weight' must have odd sizes, got {kernel}")
        fits = coordinates.shape == (P, 4) and coordinates.dtype == torch.int32
        torch._check(fits, lambda: f"'coordinates' must be int32 of sizes ({P}, 4)")
        fits = coordinates.device == features.device
        torch._check(fits, lambda: f"'coordinates' must be on {features.device}")
        fits = bias is None or bias.shape == (OC,)
        torch._check(fits, lambda: f"'bias' must be ({OC}), got {bias.shape}")
        right = len(dilation) == 3 and all(0 < d <= MOST for d in dilation)
        torch._check(right, lambda: f"'dilation' must be 3 positive, got {dilation}")
        same_kind(features, weight, bias)
        rulebook = coordinates.new_empty(PLACES, P, 2)
        count = coordinates.new_empty(PLACES, dtype=torch.int64)
        return features.new_empty(P, OC), rulebook, count
        # END SOLUTION
        # STARTER # your code (the reference takes 18 lines)
        # STARTER raise NotImplementedError

    def product(self, features, coordinates, weight, dilation):
        """Without a bias, and the output alone."""
        return self.operator(features, coordinates, weight, None, dilation)[0]

    def setup_context(self, ctx, inputs, output):
        """The other factor is needed again, the points, and who is whose neighbour."""
        # BEGIN SOLUTION
        features, coordinates, weight, _, ctx.dilation = inputs
        _, rulebook, count = output
        ctx.mark_non_differentiable(rulebook, count)
        of_features, _, of_weight, *_ = ctx.needs_input_grad
        factors = features if of_weight else None, weight if of_features else None
        ctx.save_for_backward(*factors, coordinates, rulebook, count)
        ctx.save_for_forward(features, weight, coordinates)
        ctx.shapes = features.shape, weight.shape
        # END SOLUTION
        # STARTER # your code (the reference takes 8 lines)
        # STARTER raise NotImplementedError

    def backward(self, ctx, grad_output, *_):
        """One call gives the gradients that are wanted."""
        # BEGIN SOLUTION
        of_features, _, of_weight, of_bias, _ = ctx.needs_input_grad
        mask = [of_features, of_weight, of_bias]
        grad_output = grad_output.contiguous()
        *kept, points, rulebook, count = ctx.saved_tensors
        features, weight = (unread(t, s, grad_output) for t, s in zip(kept, ctx.shapes))
        tensors = grad_output, features, points, weight, rulebook, count
        found = self.ops.subm_conv3d_backward(*tensors, ctx.dilation, mask)
        grads = [g if want else None for g, want in zip(found, mask)]
        return grads[0], None, grads[1], grads[2], None
        # END SOLUTION
        # STARTER # your code (the reference takes 9 lines)
        # STARTER raise NotImplementedError

    def jvp(self, ctx, d_features, _, d_weight, d_bias, *__):
        """The product rule; whole numbers have no tangent."""
        # BEGIN SOLUTION
        features, weight, points = ctx.saved_tensors
        of_features = of_weight = of_bias = None
        if d_features is not None:
            of_features = self.product(d_features, points, weight, ctx.dilation)
        if d_weight is not None:
            of_weight = self.product(features, points, d_weight, ctx.dilation)
        if d_bias is not None:
            of_bias = d_bias.expand(features.shape[0], -1)
        return total(of_features, of_weight, of_bias), None, None
        # END SOLUTION
        # STARTER # your code (the reference takes 9 lines)
        # STARTER raise NotImplementedError

    def vmap(self, info, in_dims, *arguments):
        """Examples may have points of their own: a call for each."""
        # BEGIN SOLUTION
        found = [self.operator(*one) for one in examples(info, in_dims, arguments)]
        return tuple(torch.stack(results) for results in zip(*found)), (0, 0, 0)
        # END SOLUTION
        # STARTER # your code (the reference takes 2 lines)
        # STARTER raise NotImplementedError


class SubmConv3dBackward(Rules):
    """subm_conv3d_backward(grad_output, features, ..., output_mask) -> three gradients.

    `of` has the rules of subm_conv3d.
    """

    name = "subm_conv3d_backward"

    def __init__(self, of: SubmConv3d) -> None:
        """The backward operator of `of`."""
        super().__init__(of.namespace)
        self.of = of

    def fake(self, grad_output, features, coordinates, weight, *rest):
        """One empty tensor for each; (0) where it is not wanted."""
        # BEGIN SOLUTION
        sizes = features.shape, weight.shape, weight.shape[:1]
        return tuple(
            features.new_empty(size if want else [0])
            for size, want in zip(sizes, rest[-1])
        )
        # END SOLUTION
        # STARTER # your code (the reference takes 5 lines)
        # STARTER raise NotImplementedError

    def setup_context(self, ctx, inputs, output):
        """All of it is needed again."""
        # BEGIN SOLUTION
        *tensors, ctx.dilation, ctx.mask = inputs
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)
        ctx.set_materialize_grads(False)
        # END SOLUTION
        # STARTER # your code (the reference takes 4 lines)
        # STARTER raise NotImplementedError

    def backward(self, ctx, *grads):
        """From gradients of grad_features, grad_weight and grad_bias."""
        # BEGIN SOLUTION
        grad_output, features, points, weight, *_ = ctx.saved_tensors
        to_features, to_weight, to_bias = (
            g if want else None for g, want in zip(grads, ctx.mask)
        )
        needs_output, needs_features, _, needs_weight, *_ = ctx.needs_input_grad
        of_output, of_features, of_weight = [], None, None
        if to_features is not None and needs_output:
            product = self.of.product(to_features, points, weight, ctx.dilation)
            of_output.append(product)
        if to_weight is not None and needs_output:
            product = self.of.product(features, points, to_weight, ctx.dilation)
            of_output.append(product)
        if to_bias is not None and needs_output:
            of_output.append(to_bias.expand(grad_output.shape))
        if to_weight is not None and needs_features:
            of_features = self.one(ctx, 0, (grad_output, features, to_weight))
        if to_features is not None and needs_weight:
            of_weight = self.one(ctx, 1, (grad_output, to_features, weight))
        return total(*of_output), of_features, None, of_weight, None, None, None, None
        # END SOLUTION
        # STARTER # your code (the reference takes 19 lines)
        # STARTER raise NotImplementedError

    def jvp(self, ctx, d_output, d_features, _, d_weight, *__):
        """The product rule for each gradient that is wanted."""
        # BEGIN SOLUTION
        grad_output, features, _, weight, *_ = ctx.saved_tensors
        found: list[Any] = [None, None, None]
        if d_output is not None:
            found = list(self.all(ctx, (d_output, features, weight), ctx.mask))
        if d_weight is not None and ctx.mask[0]:
            found[0] = total(
                found[0], self.one(ctx, 0, (grad_output, features, d_weight))
            )
        if d_features is not None and ctx.mask[1]:
            found[1] = total(
                found[1], self.one(ctx, 1, (grad_output, d_features, weight))
            )
        sizes = features.shape, weight.shape, weight.shape[:1]
        return tuple(
            features.new_zeros(size if want else [0]) if tangent is None else tangent
            for tangent, size, want in zip(found, sizes, ctx.mask)
        )
        # END SOLUTION
        # STARTER # your code (the reference takes 17 lines)
        # STARTER raise NotImplementedError

    def vmap(self, info, in_dims, *arguments):
        """A call for each example."""
        # BEGIN SOLUTION
        found = [self.operator(*one) for one in examples(info, in_dims, arguments)]
        return tuple(torch.stack(results) for results in zip(*found)), (0, 0, 0)
        # END SOLUTION
        # STARTER # your code (the reference takes 2 lines)
        # STARTER raise NotImplementedError

    def all(self, ctx: Any, factors: Any, mask: Any) -> tuple[Tensor, ...]:
        """The gradients of other factors: grad_output, features and weight."""
        grad_output, features, weight = factors
        _, _, points, _, rulebook, count = ctx.saved_tensors
        return self.ops.subm_conv3d_backward(
            grad_output.contiguous(),
            features,
            points,
            weight,
            rulebook,
            count,
            ctx.dilation,
            list(mask),
        )

    def one(self, ctx: Any, which: int, factors: Any) -> Tensor:
        """grad_features (0) or grad_weight (1) of other factors, and nothing else."""
        return self.all(ctx, factors, [i == which for i in range(3)])[which]


def examples(info: Any, in_dims: Any, arguments: Any) -> Iterator[list[Any]]:
    """The arguments of one example after the other (for vmap)."""
    for b in range(info.batch_size):
        yield [
            argument.select(axis, b) if isinstance(axis, int) else argument
            for argument, axis in zip(arguments, in_dims)
        ]


def rules(namespace: str) -> None:
    """Register both operators' rules."""
    forward = SubmConv3d(namespace)
    register(forward)
    register(SubmConv3dBackward(forward))
