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

import math
from collections.abc import Callable, Sequence
from functools import reduce
from operator import mul
from typing import Any

import torch
from onnx import TensorProto
from onnx.numpy_helper import from_array
from onnxscript import opset18 as op


def add(input: Any, other: Any, alpha: float = 1) -> Any:
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


def depthwise_conv2d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0),
    dilation: Sequence[int] = (1, 1),
) -> Any:
    """Conv with a group for each channel."""
    groups = int(input.shape[1])
    return conv2d(input, weight, bias, stride, padding, dilation, groups)


def unfold(
    input: Any,
    kernel_size: Sequence[int],
    dilation: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0),
    stride: Sequence[int] = (1, 1),
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


def gelu(input: Any, approximate: str = "none") -> Any:
    """x/2 * (1 + Erf or Tanh): a Gelu of its own came with opset 20."""
    half = op.Mul(input, op.CastLike(0.5, input))
    if approximate == "none":
        squashed = op.Erf(op.Mul(input, op.CastLike(math.sqrt(0.5), input)))
    else:
        cube = op.Mul(input, op.Mul(input, input))
        inner = op.Add(input, op.Mul(cube, op.CastLike(0.044715, input)))
        squashed = op.Tanh(op.Mul(inner, op.CastLike(math.sqrt(2 / math.pi), input)))
    return op.Add(half, op.Mul(half, squashed))


def lltm(input: Any, weight: Any, bias: Any, h: Any, c: Any) -> Any:
    """The three results, in the operators of ONNX."""
    H = int(weight.shape[0]) // 3
    joined = op.Concat(h, input, axis=1)
    preact = op.Add(op.MatMul(joined, op.Transpose(weight, perm=[1, 0])), bias)

    def block(number: int) -> Any:
        ends = [[number * H], [(number + 1) * H], [1]]  # along axis 1
        return op.Slice(preact, *(op.Constant(value_ints=end) for end in ends))

    i, o, g = op.Sigmoid(block(0)), op.Sigmoid(block(1)), op.Elu(block(2))
    new_c = op.Add(c, op.Mul(g, i))
    return op.Mul(op.Tanh(new_c), o), new_c, op.Concat(i, o, g, axis=1)


def layer_norm(
    input: Any,
    normalized_shape: Sequence[int],
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
) -> tuple[Any, ...]:
    """LayerNormalization, which wants a weight; its statistics have an axis more."""
    if weight is None:
        ones = torch.ones(int(normalized_shape[0])).numpy()
        weight = op.CastLike(op.Constant(value=from_array(ones)), input)
    output, mean, rstd = op.LayerNormalization(
        input, weight, bias, axis=-1, epsilon=eps
    )
    return output, op.Squeeze(mean, _ints(-1)), op.Squeeze(rstd, _ints(-1))


def subm_conv3d(
    features: Any,
    coordinates: Any,
    weight: Any,
    bias: Any = None,
    dilation: Sequence[int] = (1, 1, 1),
) -> tuple[Any, ...]:
    """A matrix for each place, 1 where the point of a row reads that of a column.

    These are P * P comparisons: ONNX has no hash table, so that this is for few points.
    """
    KD, KH, KW = (int(size) for size in weight.shape[2:])
    points = op.Cast(coordinates, to=TensorProto.INT64)  # (P, 4)
    columns = op.Unsqueeze(points, _ints(0))  # (1, P, 4)
    filters = op.Reshape(weight, _ints(0, 0, -1))  # (OC, IC, KD*KH*KW); 0: as it is
    sums, rulebook, count = [] if bias is None else [bias], [], []
    for k in range(KD * KH * KW):
        place = k // KW // KH - KD // 2, k // KW % KH - KH // 2, k % KW - KW // 2
        there = op.Add(points, _ints(0, *map(mul, place, dilation)))  # (P, 4)
        same = op.Equal(op.Unsqueeze(there, _ints(1)), columns)  # (P, P, 4)
        same = op.CastLike(same, features)
        reads = op.ReduceMin(same, _ints(2), keepdims=0)  # (P, P)
        filter = op.Squeeze(op.Gather(filters, _ints(k), axis=2), _ints(2))
        gathered = op.MatMul(reads, features)  # (P, IC)
        sums.append(op.MatMul(gathered, op.Transpose(filter, perm=[1, 0])))
        pairs = op.Transpose(op.NonZero(reads), perm=[1, 0])  # (count, 2)
        found = op.Shape(pairs, start=0, end=1)  # (1)
        left = op.Sub(op.Shape(points, start=0, end=1), found)  # (1)
        room = op.Concat(_ints(0, 0), left, _ints(0), axis=0)  # behind the last pair
        pairs = op.Pad(op.Gather(pairs, _ints(1, 0), axis=1), room)  # (P, 2)
        rulebook.append(op.Unsqueeze(pairs, _ints(0)))
        count.append(found)
    lists = op.Cast(op.Concat(*rulebook, axis=0), to=TensorProto.INT32)
    return reduce(op.Add, sums), lists, op.Concat(*count, axis=0)


def _ints(*numbers: int) -> Any:
    """A constant of one axis."""
    return op.Constant(value_ints=list(numbers))


def table() -> dict[Any, Callable[..., Any]]:
    """From each operator that this build has to its translation."""
    ops = torch.ops.convlab
    translations = add, matmul, linear, unfold, conv2d, depthwise_conv2d, gelu
    translations += layer_norm, lltm, subm_conv3d
    return {
        getattr(ops, function.__name__).default: function
        for function in translations
        if hasattr(ops, function.__name__)
    }
