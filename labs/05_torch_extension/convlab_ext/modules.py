# SPDX-License-Identifier: MIT
"""torch.nn's modules with convlab's operators inside: Conv2d, Linear and others.

They inherit constructor, parameters, initialisation, state_dict and repr, so that a
network changes hands by changing one name; only the product is ours. LLTM is the
module of PyTorch's C++ extension tutorial, which torch.nn does not have. The operators
are looked up when they are called: one that is not built says so then.
"""

from __future__ import annotations

import torch
from torch import Tensor

import convlab_ext

Pair = int | tuple[int, int]


def padded(module: torch.nn.Conv2d, input: Tensor) -> tuple[Tensor, Pair | str]:
    """The input, and the padding that is left: none where it is not made of zeros."""
    padding = module.padding
    if module.padding_mode == "zeros" or padding == "valid":
        return input, padding
    around = []  # before and behind an axis, the last axis first
    for axis in (1, 0):
        if padding == "same":
            both = module.dilation[axis] * (module.kernel_size[axis] - 1)
            around += [both // 2, both - both // 2]
        else:
            around += [padding[axis], padding[axis]]
    return torch.nn.functional.pad(input, around, mode=module.padding_mode), 0


class Conv2d(torch.nn.Conv2d):
    """torch.nn.Conv2d, all arguments; padding_mode other than zeros pads first."""

    def forward(self, input: Tensor) -> Tensor:
        """(N, IC, IH, IW) -> (N, OC, OH, OW)."""
        input, padding = padded(self, input)
        weight, bias = self.weight, self.bias
        return convlab_ext.conv2d(
            input, weight, bias, self.stride, padding, self.dilation, self.groups
        )


class DepthwiseConv2d(torch.nn.Conv2d):
    """torch.nn.Conv2d(channels, channels * multiplier, ..., groups=channels).

    The keys and shapes of its state_dict are Conv2d's.
    """

    def __init__(
        self,
        channels: int,
        kernel_size: Pair,
        stride: Pair = 1,
        padding: Pair | str = 0,
        dilation: Pair = 1,
        bias: bool = True,
        multiplier: int = 1,
        padding_mode: str = "zeros",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        """As many groups as channels, each with `multiplier` filters."""
        super().__init__(
            channels,
            channels * multiplier,
            kernel_size,
            stride,
            padding,
            dilation,
            channels,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def forward(self, input: Tensor) -> Tensor:
        """(N, IC, IH, IW) -> (N, OC, OH, OW)."""
        input, padding = padded(self, input)
        weight, bias = self.weight, self.bias
        return convlab_ext.depthwise_conv2d(
            input, weight, bias, self.stride, padding, self.dilation
        )


class Linear(torch.nn.Linear):
    """torch.nn.Linear."""

    def forward(self, input: Tensor) -> Tensor:
        """(..., IC) -> (..., OC)."""
        return convlab_ext.linear(input, self.weight, self.bias)


class GELU(torch.nn.GELU):
    """torch.nn.GELU, both forms."""

    def forward(self, input: Tensor) -> Tensor:
        """(...) -> (...), element by element."""
        return convlab_ext.gelu(input, approximate=self.approximate)


class LayerNorm(torch.nn.LayerNorm):
    """torch.nn.LayerNorm, over one or several of the last axes."""

    def forward(self, input: Tensor) -> Tensor:
        """(..., *normalized_shape) -> the same."""
        return convlab_ext.layer_norm(
            input, self.normalized_shape, self.weight, self.bias, self.eps
        )


class SubmConv3d(torch.nn.Conv3d):
    """The parameters of torch.nn.Conv3d, for points: stride 1, odd kernel sizes."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int, int],
        dilation: int | tuple[int, int, int] = 1,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        """As torch.nn.Conv3d, without what has no meaning at points."""
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            dilation=dilation,
            bias=bias,
            device=device,
            dtype=dtype,
        )

    def forward(self, features: Tensor, coordinates: Tensor) -> Tensor:
        """(P, IC) at (P, 4) -> (P, OC)."""
        return convlab_ext.subm_conv3d(
            features, coordinates, self.weight, self.bias, self.dilation
        )


class LLTM(torch.nn.Module):
    """The tutorial's cell: a weight (3*H, H+IC) and a bias (3*H), H = state_size.

    Both start uniform in (-bound, bound), bound = 1 / sqrt(H), as the tutorial's
    `weights` and `bias` do. A cell is called once for each step of a sequence.
    """

    def __init__(
        self,
        input_features: int,
        state_size: int,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.input_features, self.state_size = input_features, state_size
        rows, columns = 3 * state_size, state_size + input_features
        weight = torch.empty(rows, columns, device=device, dtype=dtype)  # (3*H, H+IC)
        bias = torch.empty(rows, device=device, dtype=dtype)  # (3*H)
        self.weight = torch.nn.Parameter(weight)
        self.bias = torch.nn.Parameter(bias)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """New parameters, the weight first."""
        bound = self.state_size**-0.5
        for parameter in self.parameters():
            torch.nn.init.uniform_(parameter, -bound, bound)

    def forward(self, input: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        """(N, IC) and the old state, (N, H) each -> the new state."""
        return convlab_ext.lltm(input, self.weight, self.bias, h, c)

    def extra_repr(self) -> str:
        """As torch.nn's modules show their sizes."""
        return f"{self.input_features}, {self.state_size}"
