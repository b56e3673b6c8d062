# SPDX-License-Identifier: MIT
"""Mistakes of students, each on one line of a reference file of lab 02."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests import ROOT

LAB = ROOT / "labs" / "02_naive_c"
FORWARD, BACKWARD = True, False


@dataclass(frozen=True)
class Mistake:
    """A file, the direction that it spoils, and a text with what stands there instead.

    The text is searched from the function `after` on.
    """

    rung: str
    forward: bool
    right: str
    wrong: str
    after: str = ""

    @property
    def file(self) -> Path:
        """The reference file."""
        return LAB / self.rung

    @property
    def operator(self) -> str:
        """The operator of the file."""
        return self.file.parent.name

    @property
    def direction(self) -> str:
        """forward or backward."""
        return "forward" if self.forward else "backward"

    @property
    def entry(self) -> str:
        """The function that is wrong from outside."""
        return f"{self.operator}_{self.direction}"

    def text(self) -> tuple[str, int]:
        """The wrong file, and the line of the mistake."""
        text = self.file.read_text()
        at = text.index(self.right, text.index(self.after))
        wrong = text[:at] + self.wrong + text[at + len(self.right) :]
        return wrong, text[:at].count("\n") + 1


CONV, LOOPS = "conv2d/00_definition.c", "conv2d/01_loop_order.c"
DEPTH, UNFOLD = "depthwise_conv2d/00_definition.c", "unfold/00_definition.c"
LINEAR, GELU, ADD = (
    "linear/00_definition.c",
    "gelu/00_definition.c",
    "add/00_broadcast.c",
)
MATMUL, ROWS = "matmul/00_definition.c", "matmul/01_loop_order.c"

ALL = (
    Mistake(CONV, FORWARD, "ow * p.stride_w", "ow * p.stride_h"),
    Mistake(CONV, FORWARD, "ih >= IH", "ih > IH"),
    Mistake(CONV, FORWARD, "kw * p.dilation_w", "kw"),
    Mistake(CONV, FORWARD, "continue;  // padding", "break;"),
    Mistake(CONV, FORWARD, "oc / OC * IC", "oc * IC"),
    Mistake(CONV, FORWARD, "weight->size[0] / p.groups", "weight->size[0]"),
    Mistake(CONV, FORWARD, "ih < 0 || ih >= IH", "ih >= IH"),
    Mistake(CONV, FORWARD, "ic0 + ic, ih", "ic, ih"),
    Mistake(CONV, FORWARD, "oc, ic, kh, kw)", "oc, ic, kw, kh)"),
    Mistake(CONV, FORWARD, "sum += *at4", "sum = *at4"),
    Mistake(CONV, FORWARD, "(real)(start + sum)", "(real)(sum)"),
    Mistake(
        CONV,
        FORWARD,
        "IH = input->size[2], IW = input->size[3]",
        "IH = input->size[3], IW = input->size[2]",
    ),
    Mistake(
        CONV,
        FORWARD,
        "oh * p.stride_h + kh * p.dilation_h",
        "oh * p.dilation_h + kh * p.stride_h",
    ),
    Mistake(CONV, BACKWARD, "+= grad * x", "+= grad * w"),
    Mistake(
        CONV, BACKWARD, "*at1(grad_bias, oc) += grad", "*at1(grad_bias, oc) = grad"
    ),
    Mistake(CONV, BACKWARD, "- p.padding_h", "+ p.padding_h", "window_backward"),
    Mistake(LOOPS, FORWARD, "(end - 1) * stride", "end * stride"),
    Mistake(LOOPS, FORWARD, "w * terms.stride[1]", "w"),
    Mistake(LOOPS, BACKWARD, "w * lhs.stride[1]", "w * lhs.stride[0]"),
    Mistake(DEPTH, FORWARD, "oc / (OC / IC)", "oc / IC"),
    Mistake(
        DEPTH,
        BACKWARD,
        "kw * p.dilation_w - p.padding_w",
        "kw * p.dilation_w",
        "window_backward",
    ),
    Mistake(UNFOLD, FORWARD, "oh * OW + ow", "oh * OH + ow"),
    Mistake(UNFOLD, FORWARD, "(ic * KH + kh) * KW + kw", "(ic * KH + kh) * KH + kw"),
    Mistake(UNFOLD, BACKWARD, "ic, ih, iw) +=", "ic, ih, iw) =", "fold_row"),
    Mistake(LINEAR, FORWARD, "ic = 0; ic < IC", "ic = 1; ic < IC"),
    Mistake(
        LINEAR,
        BACKWARD,
        "*at2(weight, oc, ic);",
        "*at2(weight, ic, oc);",
        "row_backward_input",
    ),
    Mistake(GELU, FORWARD, "(1 + squashed)", "squashed", "gelu("),
    Mistake(GELU, FORWARD, "(accum)CUBIC * x * x * x", "(accum)CUBIC * x * x"),
    Mistake(GELU, BACKWARD, "real_exp(-half", "real_exp(half"),
    Mistake(GELU, BACKWARD, "real_exp(-half", "real_expm1(-half"),
    Mistake(GELU, BACKWARD, "(1 - squashed * squashed)", "(1 - squashed)"),
    Mistake(ADD, FORWARD, "shape->size[missing + d]", "shape->size[d]"),
    Mistake(ADD, FORWARD, "i % size * t->stride[d]", "i / size * t->stride[d]"),
    Mistake(ADD, BACKWARD, "t->size[d] != 1", "t->size[d] == 1"),
    Mistake(MATMUL, FORWARD, "*at2(&rhs, k, n)", "*at2(&rhs, n, k)"),
    Mistake(MATMUL, BACKWARD, "product(lhs, grad,", "product(grad, lhs,"),
    Mistake(ROWS, FORWARD, "rows[k * N + n]", "rows[k * K + n]"),
)
