# SPDX-License-Identifier: MIT
"""Computes second derivatives, from the gradients of a student's backward."""

from __future__ import annotations

from collections.abc import Sequence

import torch


class Refused(Exception):
    """The backward is marked once_differentiable."""


def _made_by(gradient: torch.Tensor | None) -> str:
    """The step of autograd that a gradient comes from; PyTorch puts an error there."""
    return type(gradient.grad_fn).__name__ if gradient is not None else ""


def second_derivatives(
    gradients: Sequence[torch.Tensor | None], leaves: Sequence[torch.Tensor]
) -> list[torch.Tensor]:
    """How a weighted sum of all gradients changes with each leaf; zeros where it does
    not. The weights are fixed numbers, all of them different. Raises Refused.
    """
    if any("Error" in _made_by(gradient) for gradient in gradients):
        raise Refused
    total = torch.zeros((), dtype=torch.float64)
    for gradient in gradients:
        if gradient is not None:
            weight = torch.arange(1.0, gradient.numel() + 1, dtype=torch.float64).cos()
            total = total + (gradient.double() * weight.reshape(gradient.shape)).sum()
    if not total.requires_grad:
        return [torch.zeros_like(leaf) for leaf in leaves]
    found = torch.autograd.grad(total, list(leaves), allow_unused=True)
    return [
        torch.zeros_like(leaf) if change is None else change
        for leaf, change in zip(leaves, found)
    ]
