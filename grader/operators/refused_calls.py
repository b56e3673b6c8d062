# SPDX-License-Identifier: MIT
"""Lists calls that PyTorch refuses; lab 05's operators must refuse them with a
sentence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

Shapes = Mapping[str, Sequence[int]]

_IMAGE = (2, 4, 5, 6)
_CONV: Shapes = {"input": _IMAGE, "weight": (6, 4, 3, 2), "bias": (6,)}
_DEPTHWISE: Shapes = {"input": _IMAGE, "weight": (8, 1, 3, 2), "bias": (8,)}
_LINEAR: Shapes = {"input": (3, 4), "weight": (5, 4), "bias": (5,)}
_MATMUL: Shapes = {"input": (2, 3, 4), "other": (2, 4, 5)}
_ADD: Shapes = {"input": (3, 4), "other": (3, 4)}
_ROWS: Shapes = {"input": (3, 4), "weight": (4,), "bias": (4,)}
_UNFOLD: Shapes = {"input": _IMAGE}
_LLTM: Shapes = {
    "input": (2, 4),
    "weight": (9, 7),
    "bias": (9,),
    "h": (2, 3),
    "c": (2, 3),
}
_KERNEL = {"kernel_size": (3, 2)}
_POINTS: Shapes = {  # one point: two of ones would be equal
    "features": (1, 4),
    "coordinates": (1, 4),
    "weight": (6, 4, 3, 1, 5),
    "bias": (6,),
}
INTEGERS = {"subm_conv3d": {"coordinates": torch.int32}}

GOOD: dict[str, tuple[Shapes, dict[str, Any]]] = {
    "add": (_ADD, {}),
    "matmul": (_MATMUL, {}),
    "linear": (_LINEAR, {}),
    "unfold": (_UNFOLD, _KERNEL),
    "conv2d": (_CONV, {}),
    "depthwise_conv2d": (_DEPTHWISE, {}),
    "gelu": ({"input": (3, 4)}, {}),
    "layer_norm": (_ROWS, {}),
    "lltm": (_LLTM, {}),
    "subm_conv3d": (_POINTS, {}),
}


@dataclass(frozen=True)
class Refused:
    """One call, and what a sentence about it has to say: a word of each list."""

    what: str  # is wrong
    names: str  # arguments and options that it can be put down to: "weight|input"
    right: str  # a number or word that tells what was expected: "1|positive"
    options: Mapping[str, Any] = field(default_factory=dict)
    shapes: Shapes = field(default_factory=dict)
    dtypes: Mapping[str, torch.dtype] = field(default_factory=dict)  # that are not f32


def _wrong(
    what: str,
    names: str,
    right: str,
    options: Mapping[str, Any] | None = None,
    **shapes: Sequence[int],
) -> Refused:
    """What differs from a good call."""
    return Refused(what, names, right, options or {}, shapes)


_POSITIVE = "1|positive|zero|non-?zero"
_FOUR_AXES = "4|4-?D|four|N, I?C|OC, IC"
_PER_WINDOW = [
    _wrong("stride 0", "stride", _POSITIVE, {"stride": (0, 1)}),
    _wrong("dilation 0", "dilation", _POSITIVE, {"dilation": (1, 0)}),
    _wrong("negative padding", "padding", "0|(non-?)?negative", {"padding": (-1, 0)}),
    _wrong("a stride for three axes", "stride", "2|two", {"stride": (1, 1, 1)}),
]
_WRONG: dict[str, list[Refused]] = {
    "layer_norm": [
        _wrong(
            "a weight with the wrong number of features",
            "weight|input",
            "4",
            weight=(5,),
        ),
        _wrong("a bias of the wrong size", "bias", "4", bias=(3,)),
        _wrong("a weight with two axes", "weight", "4", weight=(3, 4)),
    ],
    "add": [
        _wrong("sizes that cannot be broadcast", "input|other", "2|3", other=(2, 4)),
    ],
    "matmul": [
        _wrong("inner sizes that differ", "input|other", "4", other=(2, 3, 5)),
        _wrong("batch sizes that differ", "input|other", "2", other=(3, 4, 5)),
    ],
    "linear": [
        _wrong(
            "a weight with the wrong number of features",
            "weight|input",
            "4",
            weight=(5, 3),
        ),
        _wrong("a bias of the wrong size", "bias", "5", bias=(4,)),
        _wrong(
            "a weight with three axes", "weight", "2|2-?D|two|OC, IC", weight=(5, 4, 1)
        ),
    ],
    "unfold": [
        _wrong(
            "a kernel larger than the image", "kernel", "5", {"kernel_size": (7, 2)}
        ),
        _wrong("a kernel of size 0", "kernel", _POSITIVE, {"kernel_size": (0, 2)}),
        _wrong("an input with two axes", "input", _FOUR_AXES, input=(5, 6)),
        *_PER_WINDOW,
    ],
    "conv2d": [
        _wrong(
            "a weight with the wrong number of channels",
            "weight|input|groups|channels",
            "4",
            weight=(6, 3, 3, 2),
        ),
        _wrong("a bias of the wrong size", "bias", "6", bias=(5,)),
        _wrong("a weight with three axes", "weight", _FOUR_AXES, weight=(6, 4, 3)),
        _wrong("an input with five axes", "input", _FOUR_AXES, input=(1, *_IMAGE)),
        _wrong(
            "a kernel larger than the image", "kernel|weight", "5", weight=(6, 4, 7, 2)
        ),
        _wrong("groups that do not divide the channels", "groups", "4", {"groups": 3}),
        _wrong("groups=0", "groups", _POSITIVE, {"groups": 0}),
        *_PER_WINDOW,
    ],
    "depthwise_conv2d": [
        _wrong(
            "a weight with two channels for each filter",
            "weight|filter|channels",
            "1",
            weight=(8, 2, 3, 2),
        ),
        _wrong(
            "a number of filters that is not a multiple of the channels",
            "weight|filters|channels",
            "4",
            weight=(6, 1, 3, 2),
            bias=(6,),
        ),
        _wrong("a bias of the wrong size", "bias", "8", bias=(5,)),
        _wrong(
            "a weight with three axes",
            "weight",
            f"{_FOUR_AXES}|OC, 1",
            weight=(8, 1, 3),
        ),
        _wrong("an input with five axes", "input", _FOUR_AXES, input=(1, *_IMAGE)),
        _wrong(
            "a kernel larger than the image", "kernel|weight", "5", weight=(8, 1, 7, 2)
        ),
        *_PER_WINDOW,
    ],
    "gelu": [
        _wrong(
            "a form of gelu that does not exist",
            "approximate",
            "none|tanh",
            {"approximate": "sigmoid"},
        ),
    ],
    "lltm": [
        _wrong(
            "a weight with the wrong number of features",
            "weight|input",
            "7|4",
            weight=(9, 6),
        ),
        _wrong(
            "a weight with the rows of only two gates", "weight", "9", weight=(6, 7)
        ),
        _wrong("a bias of the wrong size", "bias", "9", bias=(3,)),
        _wrong("a state with the wrong batch size", "h|input", "2", h=(3, 3)),
        _wrong("a cell of the wrong size", "c", "3", c=(2, 4)),
    ],
    "subm_conv3d": [
        _wrong(
            "a weight with the wrong number of channels",
            "weight|features",
            "4",
            weight=(6, 3, 3, 1, 5),
        ),
        _wrong("a kernel of even size", "weight|kernel", "odd", weight=(6, 4, 3, 2, 5)),
        _wrong("a bias of the wrong size", "bias", "6", bias=(5,)),
        _wrong(
            "points with only three coordinates", "coordinates", "4", coordinates=(1, 3)
        ),
        _wrong(
            "two points for one row of features", "coordinates", "1", coordinates=(2, 4)
        ),
        _wrong("a weight with four axes", "weight", "5|OC, IC", weight=(6, 4, 3, 5)),
        _wrong("dilation 0", "dilation", _POSITIVE, {"dilation": (1, 0, 1)}),
        _wrong("a dilation for two axes", "dilation", "3|three", {"dilation": (1, 1)}),
        Refused(
            "points that are not whole numbers",
            "coordinates",
            "i32|int32|integer",
            dtypes={"coordinates": torch.float32},
        ),
    ],
}


def refused(operator: str) -> Iterator[Refused]:
    """One call each: what is wrong, whole shapes and options, dtypes that are wrong."""
    shapes, options = GOOD[operator]
    whole_numbers = INTEGERS.get(operator, {})
    for one in _WRONG[operator]:
        whole, all_options = {**shapes, **one.shapes}, {**options, **one.options}
        dtypes = {**whole_numbers, **one.dtypes}
        yield replace(one, shapes=whole, options=all_options, dtypes=dtypes)
    if operator in ("add", "unfold"):
        return  # of these PyTorch takes any dtype
    good = Refused("", "", "", options, shapes)
    floats = [name for name in shapes if name not in whole_numbers]
    for name in floats[1:]:
        yield replace(
            good,
            what=f"'{name}' in double, but the other tensors in float",
            names=name,
            right="f32|float32|float|same",
            dtypes={**whole_numbers, name: torch.float64},
        )
    yield replace(
        good,
        what="tensors of booleans",
        names="dtype|bool",
        right="f32|float32|float|floating",
        dtypes={**whole_numbers, **dict.fromkeys(floats, torch.bool)},
    )
