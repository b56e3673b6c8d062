# SPDX-License-Identifier: MIT
"""Joins two rungs to one operator: the lower one runs cases that the upper one leaves.

A walk is a small object in C, one for each direction of an operator. It calls
`own_forward`, the upper rung. If that leaves a case, it calls `lower_forward`, which
may be another walk. Whoever links gives both names their objects.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from signatures import SIGNATURES, Argument, Signature

_FORWARD = """\
#include "operators.h"

{operator}_forward_fn own_forward, lower_forward;

status_t {operator}_forward({parameters})
{{
    const status_t status = own_forward({arguments});
    return status == STATUS_UNSUPPORTED ? lower_forward({arguments}) : status;
}}
"""

# a rung that leaves gradients may itself be calling another walk
_BACKWARD = """\
#include "operators.h"

{operator}_backward_fn own_backward, lower_backward;

status_t {operator}_backward({parameters})
{{
    const int32_t before = ctx->left;
    ctx->left = 0;
    const status_t status = own_backward({arguments});
    const int32_t left = status == STATUS_UNSUPPORTED ? -1 : ctx->left;
    ctx->left = before;
    if (status != STATUS_OK && status != STATUS_UNSUPPORTED) return status;
{dropped}
    if ({none}) return STATUS_OK;
    return lower_backward({arguments});
}}
"""


def source(operator: str, direction: str) -> str:
    """The text of a walk."""
    signature = SIGNATURES[operator]
    names = _names(signature, direction)
    parameters = ["ctx_t *ctx"]
    parameters += [_parameter(signature, name, direction) for name in names]
    words = {
        "operator": operator,
        "parameters": ", ".join(parameters),
        "arguments": ", ".join(["ctx", *names]),
    }
    if direction == "forward":
        return _FORWARD.format(**words)
    made = _gradients(signature)
    dropped = [f"    if (!(left >> {i} & 1)) {n} = NULL;" for i, n in enumerate(made)]
    none = " && ".join(f"!{name}" for name in made)
    return _BACKWARD.format(**words, dropped="\n".join(dropped), none=none)


def _names(signature: Signature, direction: str) -> list[str]:
    """The arguments of a direction behind ctx, as operators.h orders them."""
    options = ["p"] if signature.options else []
    results = [argument.name for argument in signature.outputs]
    saved = [argument.name for argument in signature.saved]
    if direction == "forward":
        given = [argument.name for argument in signature.inputs]
        return [*given, *options, *results, *saved]
    grads = [f"grad_{name}" for name in results]
    return [*grads, *signature.backward, *options, *_gradients(signature)]


def _gradients(signature: Signature) -> list[str]:
    """What backward writes, in the order of the bits of ctx->left."""
    return [f"grad_{name}" for name in signature.gradients]


def _parameter(signature: Signature, name: str, direction: str) -> str:
    """How a parameter is declared: a tensor that is written to is not const."""
    if name == "p":
        return f"{signature.name}_params_t p"
    written: tuple[Argument, ...] = (*signature.outputs, *signature.saved)
    made = [argument.name for argument in written]
    if direction == "backward":
        made = _gradients(signature)
    return f"{'' if name in made else 'const '}tensor_t *{name}"


def compiled(operator: str, direction: str, cc: str, common: Path, new: Path) -> str:
    """Compile a walk into the object `new`; it is the same for all dtypes. "", or what
    the compiler `cc` said when it failed.
    """
    order = f"{cc} -std=c11 -O2 -fPIC -DREAL_F32 -I{common} -x c - -c -o"
    done = subprocess.run(
        [*order.split(), str(new)],
        input=source(operator, direction),
        capture_output=True,
        text=True,
    )
    return done.stderr if done.returncode else ""
