# SPDX-License-Identifier: MIT
"""Holds the signatures of operators that only exhibits of a bug hunt have.

No task grades them, so a repaired exhibit is not a solution of a task. They follow the
same rules as the operators of the course, but have no module class. The first ones are
also declared in common/exhibits.h, in the same order.
"""

from __future__ import annotations

from signatures import SIGNATURES, Argument, Option, Signature
from signatures.view_names import VIEWS

_ANY = Argument("input", "(...)")
_RESULT = Argument("output", "(...)")

EXHIBITS: dict[str, Signature] = {
    signature.name: signature
    for signature in (
        Signature(
            "avg_pool2d",
            inputs=(Argument("input", "(N, C, IH, IW)"),),
            options=(
                Option("kernel_size", axes="hw"),
                Option("stride", axes="hw"),
                Option("padding", 0, axes="hw"),
            ),
            outputs=(Argument("output", "(N, C, OH, OW)"),),
            gradients=("input",),
        ),
        Signature(
            "bilinear",
            inputs=(
                Argument("input1", "(N, IC)"),
                Argument("input2", "(N, JC)"),
                Argument("weight", "(OC, IC, JC)"),
                Argument("bias", "(OC)", optional=True),
            ),
            outputs=(Argument("output", "(N, OC)"),),
            backward=("input1", "input2", "weight"),
            gradients=("input1", "input2", "weight", "bias"),
        ),
        Signature(
            "cdist",
            inputs=(Argument("x1", "(P, D)"), Argument("x2", "(R, D)")),
            outputs=(Argument("output", "(P, R)"),),
            backward=("x1", "x2"),
            gradients=("x1", "x2"),
        ),
        Signature(
            "conv_transpose2d",
            inputs=(
                Argument("input", "(N, IC, IH, IW)"),
                Argument("weight", "(IC, OC, KH, KW)"),
                Argument("bias", "(OC)", optional=True),
            ),
            options=(
                Option("stride", 1, axes="hw"),
                Option("padding", 0, axes="hw"),
                Option("dilation", 1, axes="hw"),
            ),
            outputs=(Argument("output", "(N, OC, OH, OW)"),),
            backward=("input", "weight"),
            gradients=("input", "weight", "bias"),
        ),
        Signature(
            "cumsum",
            inputs=(Argument("input", "(..., D)"),),
            outputs=(Argument("output", "(..., D)"),),
            gradients=("input",),
        ),
        Signature(
            "group_norm",
            inputs=(
                Argument("input", "(N, C, L)"),
                Argument("weight", "(C)", optional=True),
                Argument("bias", "(C)", optional=True),
            ),
            options=(Option("num_groups"), Option("eps", 1e-5, kind="float")),
            outputs=(Argument("output", "(N, C, L)"),),
            backward=("input", "weight"),
            gradients=("input", "weight", "bias"),
        ),
        Signature(
            "prelu",
            inputs=(Argument("input", "(N, C, L)"), Argument("weight", "(C)")),
            outputs=(Argument("output", "(N, C, L)"),),
            backward=("input", "weight"),
            gradients=("input", "weight"),
        ),
        Signature(
            "rms_norm",
            inputs=(
                Argument("input", "(..., D)"),
                Argument("weight", "(D)", optional=True),
            ),
            options=(Option("eps", 1e-5, kind="float"),),
            outputs=(Argument("output", "(..., D)"),),
            backward=("input", "weight"),
            gradients=("input", "weight"),
        ),
        Signature(
            "channel_shuffle",
            inputs=(Argument("input", "(N, C, L)"),),
            options=(Option("groups"),),
            outputs=(Argument("output", "(N, C, L)"),),
            gradients=("input",),
        ),
        Signature(
            "elu",
            inputs=(_ANY,),
            options=(Option("alpha", 1, kind="float"),),
            outputs=(_RESULT,),
            backward=("input",),
            gradients=("input",),
        ),
        Signature(
            "silu",
            inputs=(_ANY,),
            outputs=(_RESULT,),
            backward=("input",),
            gradients=("input",),
        ),
        Signature(
            "mul",
            inputs=(_ANY, Argument("other", "(...)")),
            outputs=(_RESULT,),
            backward=("input", "other"),
            gradients=("input", "other"),
        ),
    )
}

ALL = {**SIGNATURES, **EXHIBITS}
# how a command names an operator to a worker: calls_of in common/calls.h
NUMBERED = (*SIGNATURES.values(), *(None for _ in VIEWS), *EXHIBITS.values())


def number(name: str) -> int:
    """The number of an operator."""
    return NUMBERED.index(ALL[name])


def numbered(number: int) -> Signature:
    """The signature of the operator with this number."""
    signature = NUMBERED[number]
    assert signature, f"{number} is not the number of an operator"
    return signature
