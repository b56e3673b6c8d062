# SPDX-License-Identifier: MIT
"""Places a tensor's numbers in memory with other strides: the values stay the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

LAYOUTS = (
    *("contiguous", "transposed", "reversed", "channels_last", "gaps"),
    *("broadcast", "broadcast_second", "broadcast_last", "scalar"),
)


def lay_out(dense: torch.Tensor, layout: str) -> torch.Tensor:
    """A tensor with these values and the named layout.

    contiguous      row-major
    transposed      the last two axes are swapped in memory
    reversed        column-major: all axes are reversed in memory
    channels_last   axis 1 is the fastest in memory
    gaps            every second element along every axis of a larger memory
    broadcast       stride 0 along the first axis: its values are those of index 0
    broadcast_second  stride 0 along axis 1
    broadcast_last  stride 0 along the last axis
    scalar          stride 0 along every axis
    """
    axes = list(range(dense.dim()))
    if layout == "contiguous" or not axes or dense.numel() == 0:
        return dense.contiguous()
    if layout == "transposed":
        return _in_memory_order(dense, [*axes[:-2], *reversed(axes[-2:])])
    if layout == "reversed":
        return _in_memory_order(dense, axes[::-1])
    if layout == "channels_last":
        return _in_memory_order(dense, [axes[0], *axes[2:], axes[1]])
    if layout == "gaps":
        wide = dense.new_zeros([2 * extent for extent in dense.shape])
        view = wide[tuple(slice(None, None, 2) for _ in axes)]
        return view.copy_(dense)
    if layout == "broadcast":
        return dense[:1].contiguous().expand(dense.shape)
    if layout == "broadcast_second":
        return dense[:, :1].contiguous().expand(dense.shape)
    if layout == "broadcast_last":
        return dense[..., :1].contiguous().expand(dense.shape)
    if layout == "scalar":
        first = dense[tuple(slice(0, 1) for _ in axes)]
        return first.contiguous().expand(dense.shape)
    raise ValueError(f"unknown layout {layout!r}")


def dense(
    shapes: Mapping[str, Sequence[int]], layouts: Mapping[str, str]
) -> dict[str, bool]:
    """Which of these tensors lie row-major and without gaps."""
    return {
        name: lay_out(
            torch.empty(shape, device="meta"), layouts.get(name, "contiguous")
        ).is_contiguous()
        for name, shape in shapes.items()
    }


def _in_memory_order(dense: torch.Tensor, order: list[int]) -> torch.Tensor:
    """The same values, with the axes lying in memory in the given order."""
    inverse = sorted(range(len(order)), key=order.__getitem__)
    return dense.permute(order).contiguous().permute(inverse)
