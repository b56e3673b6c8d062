# SPDX-License-Identifier: MIT
"""Lists the operators that are sums of products, and writes matmul and linear."""

from __future__ import annotations

import math

from grader.diagnosis.mistakes.mistake import Setting
from grader.diagnosis.search.image_sums import CONVOLUTION, UNFOLD
from grader.diagnosis.search.point_sums import POINTS
from grader.diagnosis.search.summed_operator import Form, numbers_of_case, other, plain
from grader.diagnosis.search.sums import Numbers, Sum


def _of_matmul(s: Setting) -> Numbers:
    (*lead, M, K), N = s.inputs["input"].shape, s.inputs["other"].shape[-1]
    B = math.prod(lead)
    sizes = {"input": (B, M, K), "other": (B, K, N), "output": (B, M, N)}
    ranges = {"b": B, "m": M, "n": N, "k": K, "first axis": (*lead, 1)[0]}
    return numbers_of_case(s, {}, ranges, sizes)


def _of_linear(s: Setting) -> Numbers:
    OC, IC = s.inputs["weight"].shape
    R = math.prod(s.inputs["input"].shape[:-1])
    lead = s.inputs["input"].shape[:-1] or (1,)
    ranges = {"row": R, "oc": OC, "ic": IC, "first axis": lead[0], "rows": lead[-1]}
    sizes = {"input": (R, IC), "weight": (OC, IC), "bias": (OC,), "output": (R, OC)}
    return numbers_of_case(s, {}, ranges, sizes)


FORMS = {
    "matmul": Form(
        Sum(
            {
                "input": plain("b", "m", "k"),
                "other": plain("b", "k", "n"),
                "output": plain("b", "m", "n"),
            }
        ),
        None,
        _of_matmul,
        {
            "input": ("b", "m", "k"),
            "other": ("b", "k", "n"),
            "output": ("b", "m", "n"),
        },
        others={
            "b to first axis": other("input", ranges={"b": "first axis"}),
            "both transposed": other(
                "output", {"input": plain("b", "k", "m"), "other": plain("b", "n", "k")}
            ),
            "both stored": other(
                "output", orders=dict.fromkeys(("input", "other"), (0, 2, 1))
            ),
        },
    ),
    "linear": Form(
        Sum(
            {
                "input": plain("row", "ic"),
                "weight": plain("oc", "ic"),
                "output": plain("row", "oc"),
            }
        ),
        Sum({"bias": plain("oc"), "output": plain("row", "oc")}),
        _of_linear,
        {
            "input": ("row", "ic"),
            "weight": ("oc", "ic"),
            "output": ("row", "oc"),
            "bias": ("oc",),
        },
        counts=(("first axis",), ("rows",), ("oc",), ("row", "oc")),
        others={
            f"row to {axis}": other("output", ranges={"row": axis})
            for axis in ("first axis", "rows")
        },
    ),
    "subm_conv3d": POINTS,
    "conv2d": CONVOLUTION,
    "depthwise_conv2d": CONVOLUTION,
    "unfold": UNFOLD,
}
