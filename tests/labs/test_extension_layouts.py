# SPDX-License-Identifier: MIT
"""Results of lab 05 lie in memory as PyTorch's do: channels last in, channels last out.

That concerns the public functions. The operators give row-major results: the contract.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

pytestmark = pytest.mark.usefixtures("extension")
LAST = torch.channels_last


def laid(layout: str, *shape: int) -> Tensor:
    """Random numbers (N, C, H, W) in a layout."""
    random = torch.Generator().manual_seed(4)
    x = torch.randn(shape, generator=random)
    if layout == "last":
        return x.contiguous(memory_format=LAST)
    if layout == "last, every second channel":
        return x.repeat_interleave(2, 1).contiguous(memory_format=LAST)[:, ::2]
    if layout == "turned":
        return x.mT.contiguous().mT
    if layout == "sliced":
        return x.repeat_interleave(2, 3)[..., ::2]
    if layout == "every second image":
        return x.repeat_interleave(2, 0)[::2]
    if layout == "stretched":
        return x[:, :1].expand(shape)
    return x


LAYOUTS = (
    "row-major",
    "last",
    "last, every second channel",
    "turned",
    "sliced",
    "every second image",
    "stretched",
)
SIZES = (
    (2, 4, 5, 6),
    (2, 1, 5, 6),
    (1, 4, 5, 6),
    (2, 4, 1, 1),
    (2, 1, 1, 1),
    (0, 4, 5, 6),
)
each_layout = pytest.mark.parametrize("layout", LAYOUTS)
each_size = pytest.mark.parametrize("size", SIZES, ids=str)


def same(found: Tensor, expected: Tensor) -> None:
    """Numbers, and strides of axes that have more than one element."""
    torch.testing.assert_close(found, expected)
    wide = [d for d, size in enumerate(expected.shape) if size > 1]
    strides = [[t.stride(d) for d in wide] for t in (found, expected)]
    assert strides[0] == strides[1] or not expected.numel()


@each_layout
@each_size
@pytest.mark.parametrize("of_weight", ["row-major", "last"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_convolution_has_the_layout_of_pytorchs(
    extension: ModuleType,
    layout: str,
    size: tuple[int, ...],
    of_weight: str,
    dtype: torch.dtype,
):
    x = laid(layout, *size).to(dtype)
    if not x.numel() or (size[2] == 1 and layout == "stretched"):
        return  # PyTorch computes nothing; and no layout is the right one
    weight = laid(of_weight, 3, size[1], 3, 2).to(dtype)
    same(extension.conv2d(x, weight, padding=1), F.conv2d(x, weight, padding=1))
    filters = laid(of_weight, 2 * size[1], 1, 3, 2).to(dtype)
    expected = F.conv2d(x, filters, padding=1, groups=size[1])
    same(extension.depthwise_conv2d(x, filters, padding=1), expected)


@each_layout
@each_size
def test_gelu_has_the_layout_of_its_input(
    extension: ModuleType, layout: str, size: tuple[int, ...]
):
    x = laid(layout, *size)
    same(extension.gelu(x), F.gelu(x))


@each_layout
@each_size
def test_add_has_the_layout_of_its_operands(
    extension: ModuleType, layout: str, size: tuple[int, ...]
):
    x, C = laid(layout, *size), size[1]
    for other in (x, laid(layout, *size), torch.ones(()), torch.ones(C, 1, 1)):
        same(extension.add(x, other, alpha=2), torch.add(x, other, alpha=2))
        same(extension.add(other, x), torch.add(other, x))


def calls(extension: ModuleType) -> list[Callable[[Tensor], Any]]:
    """Of one image batch (N, 4, H, W)."""
    weight, filters = torch.randn(3, 4, 3, 3), torch.randn(4, 1, 3, 3)
    return [
        lambda x: extension.conv2d(x, weight),
        lambda x: extension.depthwise_conv2d(x, filters),
        extension.gelu,
        lambda x: extension.add(x, x),
    ]


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize("dynamic", [False, True])
def test_a_compiled_call_has_the_same_layout(
    extension: ModuleType, number: int, dynamic: bool
):
    torch._dynamo.reset()
    call, x = calls(extension)[number], laid("last", 2, 4, 5, 6)
    compiled = torch.compile(call, fullgraph=True, dynamic=dynamic, backend="aot_eager")
    for given in (x, laid("last", 3, 4, 7, 8), laid("row-major", 2, 4, 5, 6)):
        same(compiled(given), call(given))


@pytest.mark.parametrize("number", range(4))
def test_vmap_and_gradients_take_channels_last(extension: ModuleType, number: int):
    call, x = calls(extension)[number], laid("last", 2, 4, 5, 6)
    torch.testing.assert_close(torch.vmap(call)(x), call(x))
    each = torch.vmap(torch.func.grad(lambda x: call(x).sin().sum()))(x)
    x.requires_grad_()
    call(x).sin().sum().backward()
    torch.testing.assert_close(each, x.grad)
    assert x.grad.is_contiguous(memory_format=LAST)
