# SPDX-License-Identifier: MIT
"""unfold: the public function, and the rules of the operators unfold, unfold_backward.

unfold copies numbers and its backward (col2im) adds them up; both are linear, so a
tangent goes the way of the values, and backward of backward is forward.
"""

from __future__ import annotations

from torch import Tensor

from convlab_ext._refusals import must_be_tensor
from convlab_ext._rules import Rules, convlab, register, same_kind, sizes
from convlab_ext._windows import batch_of_one, extents, pair


def unfold(
    input: Tensor,
    kernel_size: int | tuple[int, int],
    dilation: int | tuple[int, int] = 1,
    padding: int | tuple[int, int] = 0,
    stride: int | tuple[int, int] = 1,
) -> Tensor:
    """torch.nn.functional.unfold by convlab's kernels; also one image without N."""
    must_be_tensor("unfold", "input", input)
    if input.dim() == 3:
        image = batch_of_one("unfold", input)
        return unfold(image, kernel_size, dilation, padding, stride)[0]
    return convlab.unfold(
        input,
        pair("unfold", "kernel_size", kernel_size),
        pair("unfold", "dilation", dilation),
        pair("unfold", "padding", padding),
        pair("unfold", "stride", stride),
    )


class Unfold(Rules):
    """unfold(input, kernel_size, dilation, padding, stride) -> columns."""

    name = "unfold"

    def fake(self, input, kernel_size, dilation, padding, stride):
        """(N, IC*KH*KW, OH*OW)."""
        # BEGIN SOLUTION
        same_kind(input)
        N, IC, IH, IW = sizes("input", input, "(N, IC, IH, IW)")
        OH, OW = extents((IH, IW), kernel_size, stride, padding, dilation)
        return input.new_empty(N, IC * kernel_size[0] * kernel_size[1], OH * OW)
        # END SOLUTION
        # STARTER # your code (the reference takes 4 lines)
        # STARTER raise NotImplementedError

    def setup_context(self, ctx, inputs, output):
        """The size of the image and the options: no numbers."""
        # BEGIN SOLUTION
        input, *ctx.options = inputs
        ctx.size = input.shape[2:]
        # END SOLUTION
        # STARTER # your code (the reference takes 2 lines)
        # STARTER raise NotImplementedError

    def backward(self, ctx, grad_output):
        """col2im."""
        # BEGIN SOLUTION
        found = self.ops.unfold_backward(grad_output, ctx.size, *ctx.options)
        return found, None, None, None, None
        # END SOLUTION
        # STARTER # your code (the reference takes 2 lines)
        # STARTER raise NotImplementedError

    def jvp(self, ctx, d_input, *_):
        """It is linear."""
        # BEGIN SOLUTION
        return self.operator(d_input, *ctx.options)
        # END SOLUTION
        # STARTER # your code (the reference takes 1 line)
        # STARTER raise NotImplementedError

    def vmap(self, info, in_dims, input, *options):
        """The batch axis joins N."""
        # BEGIN SOLUTION
        images = input.movedim(in_dims[0], 0)  # (B, N, IC, IH, IW)
        columns = self.operator(images.flatten(0, 1), *options)
        return columns.unflatten(0, images.shape[:2]), 0
        # END SOLUTION
        # STARTER # your code (the reference takes 3 lines)
        # STARTER raise NotImplementedError


class UnfoldBackward(Rules):
    """unfold_backward(grad_output, input_size, options...) -> grad_input."""

    name = "unfold_backward"

    def fake(self, grad_output, input_size, kernel_size, *options):
        """(N, IC, IH, IW)."""
        # BEGIN SOLUTION
        N, rows, _ = grad_output.shape
        IC = rows // (kernel_size[0] * kernel_size[1])
        return grad_output.new_empty(N, IC, *input_size)
        # END SOLUTION
        # STARTER # your code (the reference takes 3 lines)
        # STARTER raise NotImplementedError

    def setup_context(self, ctx, inputs, output):
        """The options."""
        # BEGIN SOLUTION
        _, ctx.size, *ctx.options = inputs
        # END SOLUTION
        # STARTER # your code (the reference takes 1 line)
        # STARTER raise NotImplementedError

    def backward(self, ctx, to_input):
        """Unfold once more."""
        # BEGIN SOLUTION
        found = self.ops.unfold(to_input, *ctx.options)
        return found, *[None] * (len(ctx.options) + 1)
        # END SOLUTION
        # STARTER # your code (the reference takes 2 lines)
        # STARTER raise NotImplementedError

    def jvp(self, ctx, d_output, *_):
        """It is linear."""
        # BEGIN SOLUTION
        return self.operator(d_output, ctx.size, *ctx.options)
        # END SOLUTION
        # STARTER # your code (the reference takes 1 line)
        # STARTER raise NotImplementedError

    def vmap(self, info, in_dims, grad_output, *options):
        """The batch axis joins N."""
        # BEGIN SOLUTION
        grads = grad_output.movedim(in_dims[0], 0)  # (B, N, IC*KH*KW, OH*OW)
        images = self.operator(grads.flatten(0, 1), *options)
        return images.unflatten(0, grads.shape[:2]), 0
        # END SOLUTION
        # STARTER # your code (the reference takes 3 lines)
        # STARTER raise NotImplementedError


def rules(namespace: str) -> None:
    """Register both operators' rules."""
    register(Unfold(namespace))
    register(UnfoldBackward(namespace))
