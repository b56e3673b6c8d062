# SPDX-License-Identifier: MIT
"""Writes conv2d, depthwise_conv2d and unfold as sums of products."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch

from grader.diagnosis.mistakes.mistake import Setting
from grader.diagnosis.search.summed_operator import (
    Change,
    Form,
    numbers_of_case,
    other,
    plain,
    result_of,
)
from grader.diagnosis.search.sums import Index, Numbers, Sum

CHANNEL = ((("C", "group"), ("1", "ic")),)  # of the image
FILTER = ((("M", "group"), ("1", "filter")),)
WINDOW = (
    (("stride_h", "oh"), ("dilation_h", "kh"), ("-padding_h", "")),
    (("stride_w", "ow"), ("dilation_w", "kw"), ("-padding_w", "")),
)
AXES = ("hw", "h", "w")
IGNORED = {"stride": 1, "padding": 0, "dilation": 1}  # what an ignored option counts as
UNPADDED = (WINDOW[0][:-1], WINDOW[1][:-1])
IN_PLANES = (
    (("0", "oh"), ("0", "kh")),
    (("wide*stride_h", "oh"), ("wide*dilation_h", "kh"), *UNPADDED[1]),
)
_TURNED_LOOPS = {"kh": "kw", "kw": "kh"}


def _of_convolution(s: Setting) -> Numbers:
    N, IC, IH, IW = s.inputs["input"].shape
    OC, C, KH, KW = s.inputs["weight"].shape
    OH, OW = result_of(s).shape[2:]
    G, o = int(s.options.get("groups", IC)), _options(s)
    M = OC // G
    ranges = {"n": N, "group": G, "filter": M, "oh": OH, "ow": OW}
    ranges |= {"ic": C, "kh": KH, "kw": KW, "channels": IC}
    wide = IH + 2 * o["padding_h"], IW + 2 * o["padding_w"]
    sizes = {
        "input": (N, IC, IH, IW),
        "weight": (OC, C, KH, KW),
        "bias": (OC,),
        "output": (N, OC, OH, OW),
        "padded image": (N, IC, *wide),
        "turned kernel": (OC, C, KW, KH),
        "planes": (N, IC, 1, IH * IW),
        "filters inside": (G, C, KH, KW * M),
    }
    oc = torch.arange(OC).reshape(G, M)
    tables = {"oc": oc, "oc % G": oc % G, "oc // G": oc // G}
    tap = torch.arange(KH * KW).reshape(KH, KW)
    tables |= {"row of turned": tap % KH, "column of turned": tap // KH}
    coefficients = {**o, "C": C, "M": M, "G": G, "wide": wide[1]}
    return replace(
        numbers_of_case(s, coefficients, ranges | _rests(o), sizes), tables=tables
    )


def _rests(options: Mapping[str, int]) -> dict[str, int]:
    """The rests of a division by a stride."""
    return {f"rest_{a}": options[f"stride_{a}"] for a in "hw"}


def _of_unfold(s: Setting) -> Numbers:
    N, IC, *extents = s.inputs["input"].shape
    KH, KW = s.options["kernel_size"]
    o = _options(s)
    ranges = {"n": N, "ic": IC, "kh": KH, "kw": KW, **_rests(o)}
    for a, extent, k in zip("hw", extents, (KH, KW)):
        right = [o[f"{name}_{a}"] for name in IGNORED]
        ranges[f"o{a}"] = _windows(extent, k, *right)
        for at, (name, value) in enumerate(IGNORED.items()):
            wrong = [*right[:at], value, *right[at + 1 :]]
            ranges[f"o{a} without {name}"] = max(0, _windows(extent, k, *wrong))
    OH, OW = ranges["oh"], ranges["ow"]
    sizes = {
        "input": (N, IC, *extents),
        "output": (N, IC, KH, KW, OH, OW),
        "turned kernel": (N, IC, KW, KH, OH, OW),
    }
    return numbers_of_case(s, {**o, **ranges}, ranges, sizes)


def _windows(extent: int, k: int, stride: int, padding: int, dilation: int) -> int:
    """How many windows fit along one axis."""
    return (extent + 2 * padding - dilation * (k - 1) - 1) // stride + 1


def _options(s: Setting) -> dict[str, int]:
    """stride_h, stride_w, padding_h ..."""
    return {
        f"{name}_{axis}": int(value)
        for name in IGNORED
        for axis, value in zip("hw", s.options[name])
    }


def _image(h: Index, w: Index, **fields: Any) -> Change:
    """The image read at other places, with other fields besides."""
    return other("input", {"input": (*plain("n"), *CHANNEL, h, w)}, **fields)


def _of_columns() -> dict[str, Change]:
    """Rows and columns of unfold with their parts in other orders, and windows that are
    counted without an option: each stands where it would then.
    """
    made = {}
    for rows in itertools.permutations((1, 2, 3)):
        for order in ((0, *rows, 4, 5), (0, *rows, 5, 4), (0, 4, 5, 1, 2, 3)):
            if order != (0, 1, 2, 3, 4, 5):
                made[f"order {order}"] = other("input", orders={"output": order})
    for name, axes in itertools.product(IGNORED, AXES):
        ranges = {f"o{a}": f"o{a} without {name}" for a in axes}
        column = ((ranges.get("ow", "ow"), "oh"), ("1", "ow"))
        output = (*plain("n", "ic", "kh", "kw"), (("0", "oh"),), column)
        key = f"counted without {name} {axes}"
        made[key] = other("input", {"output": output}, ranges=ranges)
    return made


CONVOLUTION = Form(
    Sum(
        {
            "input": (*plain("n"), *CHANNEL, *WINDOW),
            "weight": (*FILTER, *plain("ic", "kh", "kw")),
            "output": (*plain("n"), *FILTER, *plain("oh", "ow")),
        },
        padded="input",
        tested=(2, 3),
    ),
    Sum({"bias": FILTER, "output": (*plain("n"), *FILTER, *plain("oh", "ow"))}),
    _of_convolution,
    {
        "input": ("n", "channel", "ih", "iw"),
        "weight": ("oc", "ic", "kh", "kw"),
        "output": ("n", "oc", "oh", "ow"),
        "bias": ("oc",),
    },
    {"C": "IC/G", "M": "OC/G"},
    expressions=("oc % G", "oc // G", "oc"),
    window=True,
    writes={
        "input": [
            ("filter", "kh", "kw", "oh", "ow"),
            ("filter", "oh", "ow", "kh", "kw"),
        ]
    },
    others={
        "kernel kh-kw": other(
            "input", ranges=_TURNED_LOOPS, sizes={"weight": "turned kernel"}
        ),
        "weight written kw, kh": other(
            "input",
            {
                "weight": (
                    *FILTER,
                    *plain("ic", "row of turned[kh,kw]", "column of turned[kh,kw]"),
                )
            },
        ),
        "all channels": other(
            "input", {"input": (*plain("n", "ic"), *WINDOW)}, ranges={"ic": "channels"}
        ),
        "weight stored by group": other(
            "input",
            {"weight": (*plain("group", "ic", "kh"), (("M", "kw"), ("1", "filter")))},
            sizes={"weight": "filters inside"},
        ),
        "uncropped in memory": _image(*UNPADDED, sizes={"input": "padded image"}),
        "uncropped in planes": _image(*IN_PLANES, sizes={"input": "planes"}),
        "uncropped at the right": _image(
            UNPADDED[0], (*UNPADDED[1], ("-2*padding_w", ""))
        ),
        **{
            f"unpadded kept {axes}": _image(
                *(
                    unpadded if axis in axes else index
                    for axis, unpadded, index in zip("hw", UNPADDED, WINDOW)
                ),
                kept="last",
                kept_over=("n", "oh", "ow"),
            )
            for axes in AXES
        },
        **{
            f"times {loops}": other("bias", times=tuple(loops.split(",")))
            for loops in ("ic", "channels", "kh,kw", "ic,kh,kw", "kh", "ic,kh")
        },
        "times taps": other(
            "bias",
            {"input": (*plain("n"), *CHANNEL, *WINDOW)},
            padded="input",
            tested=(2, 3),
            powers={"input": 0},
        ),
    },
)
UNFOLD = Form(
    Sum(
        {
            "input": (*plain("n", "ic"), *WINDOW),
            "output": plain("n", "ic", "kh", "kw", "oh", "ow"),
        },
        padded="input",
        tested=(2, 3),
    ),
    None,
    _of_unfold,
    {
        "input": ("n", "ic", "ih", "iw"),
        "output": ("n", "ic", "kh", "kw", "oh", "ow"),
    },
    window=True,
    writes={"input": [("kh", "kw", "oh", "ow"), ("oh", "ow", "kh", "kw")]},
    others={
        "kernel kh-kw": other(
            "input", ranges=_TURNED_LOOPS, sizes={"output": "turned kernel"}
        ),
        **_of_columns(),
    },
)
