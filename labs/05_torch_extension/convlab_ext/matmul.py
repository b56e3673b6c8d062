# SPDX-License-Identifier: MIT
"""matmul: the public function, and the rules of the operators matmul, matmul_backward.

The derivatives are those of any product (_bilinear.py), and a batch axis is one more in
front. The public function makes what torch.matmul takes into what the operator takes.
"""

from __future__ import annotations

import torch
from torch import Tensor

from convlab_ext._bilinear import Bilinear, BilinearBackward
from convlab_ext._refusals import must_be_dense, must_be_tensor
from convlab_ext._rules import convlab, in_front, register, same_kind, sizes


def matmul(input: Tensor, other: Tensor) -> Tensor:
    """torch.matmul by convlab's kernels: vectors, matrices, batches that broadcast."""
    must_be_tensor("matmul", "input", input)
    must_be_tensor("matmul", "other", other)
    if input.dim() == 2 and other.dim() == 2:
        return convlab.matmul(input, other)
    must_be_dense("matmul", input=input, other=other)
    if other.dim() == 1 and input.dim() > 0:
        return matmul(input, other[:, None]).squeeze(-1)  # a column
    if input.dim() == 1 and other.dim() > 0:
        return matmul(input[None], other).squeeze(-2)  # a row
    if input.dim() > 2 and other.dim() == 2:  # one tall matrix
        output = matmul(input.flatten(0, -2), other)
        return output.reshape(*input.shape[:-1], other.shape[-1])
    if input.shape[:-2] != other.shape[:-2] and stretchable(input, other):
        batch = torch.broadcast_shapes(input.shape[:-2], other.shape[:-2])
        input = input.expand(*batch, *input.shape[-2:])  # views with stride 0
        other = other.expand(*batch, *other.shape[-2:])
    return convlab.matmul(input, other)


def stretchable(input: Tensor, other: Tensor) -> bool:
    """Whether the batch axes broadcast; the operator refuses those that do not."""
    axes = zip(reversed(input.shape[:-2]), reversed(other.shape[:-2]))
    return all(one == two or one == 1 or two == 1 for one, two in axes)


class Matmul(Bilinear):
    """matmul(input, other) -> output; the batch axes of both are equal."""

    name = "matmul"
    biased = False

    def fake(self, input, other):
        """(..., M, N); unequal batches and unequal K are refused (torch._check)."""
        # BEGIN SOLUTION
        *batch, M, K = sizes("input", input, "(..., M, K)")
        *others, rows, N = sizes("other", other, "(..., K, N)")
        said = f"'input' has batch axes {batch}, 'other' {others}, expected the same"
        torch._check(batch == others, lambda: said)
        torch._check(rows == K, lambda: f"'input' has {K} columns, 'other' {rows} rows")
        same_kind(input, other)
        return input.new_empty(*batch, M, N)
        # END SOLUTION
        # STARTER # your code (the reference takes 7 lines)
        # STARTER raise NotImplementedError

    def vmap(self, info, in_dims, input, other):
        """The axis of examples becomes one more axis of the batch."""
        # BEGIN SOLUTION
        B = info.batch_size
        inputs = in_front(input, in_dims[0], B)  # (B, ..., M, K)
        others = in_front(other, in_dims[1], B)  # (B, ..., K, N)
        return self.operator(inputs, others), 0
        # END SOLUTION
        # STARTER # your code (the reference takes 4 lines)
        # STARTER raise NotImplementedError


class MatmulBackward(BilinearBackward):
    """matmul_backward(grad_output, input, other, output_mask)."""

    def vmap(self, info, in_dims, grad_output, input, other, mask):
        """The axis of examples becomes one more axis of the batch."""
        # BEGIN SOLUTION
        tensors = grad_output, input, other
        batched = (in_front(t, d, info.batch_size) for t, d in zip(tensors, in_dims))
        return self.operator(*batched, mask), tuple(
            0 if want else None for want in mask
        )
        # END SOLUTION
        # STARTER # your code (the reference takes 5 lines)
        # STARTER raise NotImplementedError


def rules(namespace: str) -> None:
    """Register both operators' rules."""
    forward = Matmul(namespace)
    register(forward)
    register(MatmulBackward(forward))
