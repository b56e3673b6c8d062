# SPDX-License-Identifier: MIT
"""Computes the shape of an output from the sizes in the words of a signature.

common/operators.h has the same words: "(N, IC, IH, IW)", "(..., D)", "(N, IC*KH*KW,
OH*OW)". Inputs and options give the letters their numbers. With these numbers the
shapes of the outputs are computed. <op>_check, not this module, checks that the inputs
fit each other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from signatures import Argument, Option, Signature

from convlab._native import binding

Shape = tuple[int, ...]


def output_shapes(
    signature: Signature,
    inputs: Sequence[torch.Tensor | None],
    options: Mapping[str, Any],
) -> list[Shape]:
    """The shapes of the outputs, then of what is saved; zeros where nothing fits."""
    made = (*signature.outputs, *signature.saved)
    try:
        lead, sizes = _sizes(signature, inputs, options)
        return [_shape(argument, lead, sizes) for argument in made]
    except (KeyError, RuntimeError, ValueError):
        return [(0,)] * len(made)  # never reached by a call: the check refuses it


def _words(argument: Argument) -> list[str]:
    return [word.strip() for word in argument.shape.strip("()").split(",") if word]


def _sizes(
    signature: Signature,
    inputs: Sequence[torch.Tensor | None],
    options: Mapping[str, Any],
) -> tuple[Shape, dict[str, int]]:
    """The leading axes behind "...", and the number behind each letter."""
    leads: list[Shape] = []
    sizes: dict[str, int] = {}
    for argument, tensor in zip(signature.inputs, inputs):
        if tensor is None:
            continue
        words = _words(argument)
        if words[:1] == ["..."]:
            words = words[1:]
            leads.append(tuple(tensor.shape[: tensor.dim() - len(words)]))
        axes = tensor.shape[tensor.dim() - len(words) :]
        for word, size in zip(words, axes, strict=True):
            if word.isalpha():
                sizes.setdefault(word, size)
    fields = _fields(signature.options, options)
    for axis in ("h", "w"):
        _windows(sizes, fields, axis)
    if len(set(leads)) < 2:
        return leads[0] if leads else (), sizes
    return tuple(torch.broadcast_shapes(*leads)), sizes


def _fields(options: Sequence[Option], values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the operator's options struct, by name."""
    return {
        field: value
        for option in options
        for field, value in zip(option.fields, option.values(values[option.name]))
    }


def _windows(sizes: dict[str, int], fields: Mapping[str, Any], axis: str) -> None:
    """KH and OH, or KW and OW, where there are windows."""
    letter = axis.upper()
    if f"kernel_{axis}" in fields:
        sizes[f"K{letter}"] = fields[f"kernel_{axis}"]
    if f"I{letter}" not in sizes or f"stride_{axis}" not in fields:
        return
    geometry = [fields[f"{name}_{axis}"] for name in ("stride", "padding", "dilation")]
    if geometry[0] < 1:
        raise ValueError("a stride must be at least 1")
    sizes[f"O{letter}"] = binding().extent(
        sizes[f"I{letter}"], sizes[f"K{letter}"], *geometry
    )


def _shape(argument: Argument, lead: Shape, sizes: Mapping[str, int]) -> Shape:
    """The numbers behind "(N, IC*KH*KW, OH*OW)"."""
    words = _words(argument)
    start = lead if words[:1] == ["..."] else ()
    rest = words[1:] if words[:1] == ["..."] else words
    return start + tuple(
        math.prod(int(f) if f.isdigit() else sizes[f] for f in word.split("*"))
        for word in rest
    )
