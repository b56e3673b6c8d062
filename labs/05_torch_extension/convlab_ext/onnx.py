# SPDX-License-Identifier: MIT
"""A table for torch.onnx.export: convlab's operators as standard operators of ONNX.

    from convlab_ext import onnx

    program = torch.onnx.export(
        model, (x,), dynamo=True, opset_version=18,
        custom_translation_table=onnx.table(),
    )

Any runtime of ONNX runs the result; it has none of our code inside. (ONNX calls an
operator that it does not define itself a custom one, and a runtime needs its library.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from onnx.numpy_helper import from_array
from onnxscript import opset18 as op


def add(input: Any, other: Any, alpha: float) -> Any:
    """input + alpha * other."""
    if alpha != 1:
        other = op.Mul(other, op.CastLike(alpha, other))
    return op.Add(input, other)


def matmul(input: Any, other: Any) -> Any:
    """MatMul broadcasts as torch.matmul does."""
    return op.MatMul(input, other)


def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """input @ weight^T + bias; Gemm would take two axes only."""
    output = op.MatMul(input, op.Transpose(weight, perm=[1, 0]))
    return output if bias is None else op.Add(output, bias)


def conv2d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0),
    dilation: Sequence[int] = (1, 1),
    groups: int = 1,
) -> Any:
    """Conv; ONNX counts padding at the begin of both axes, then at the end."""
    return op.Conv(
        input,
        weight,
        bias,
        strides=stride,
        pads=[*padding, *padding],
        dilations=dilation,
        group=groups,
    )


def unfold(
    input: Any,
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Any:
    """ONNX has no im2col: a convolution each of whose filters picks one element.

    Filter (ic*KH + kh)*KW + kw sees channel ic alone and is 1 at (kh, kw).
    """
    IC, (KH, KW) = int(input.shape[1]), kernel_size
    picks = torch.eye(KH * KW).reshape(KH * KW, 1, KH, KW).repeat(IC, 1, 1, 1)
    weight = op.CastLike(op.Constant(value=from_array(picks.numpy())), input)
    images = op.Conv(
        input,
        weight,
        strides=stride,
        pads=[*padding, *padding],
        dilations=dilation,
        group=IC,
    )  # (N, IC*KH*KW, OH, OW)
    return op.Reshape(images, op.Constant(value_ints=[0, 0, -1]))  # 0: as it is


def table() -> dict[Any, Callable[..., Any]]:
    """From each operator that this build has to its translation."""
    ops, translations = torch.ops.convlab, (add, matmul, linear, unfold, conv2d)
    return {
        getattr(ops, function.__name__).default: function
        for function in translations
        if hasattr(ops, function.__name__)
    }
