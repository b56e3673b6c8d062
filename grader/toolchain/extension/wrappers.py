# SPDX-License-Identifier: MIT
"""Makes the wrappers of wrappers.h: a graded library calls each kernel through one.

A graded library is linked with `ld --wrap`. If a student's C++ names
gelu_forward_cpu_f64, it gets __wrap_gelu_forward_cpu_f64. The wrapper calls the kernel
and then the grader. `make build` and the bench link without wrappers.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from signatures import SIGNATURES, Signature

from grader import once
from grader.course.rungs import ROOT
from grader.toolchain.make import binutils, compiler
from grader.toolchain.symbols import symbols

HEADER = Path(__file__).with_name("wrappers.h")


def flags(operator: str, kernels: Path) -> tuple[str, str]:
    """What the linker is told: the wrappers' object, made if it is not there, and which
    functions of the object `kernels` it wraps; and a hash of the wrappers. Raises
    ProductError.
    """
    wrapped = _wrapped(operator, kernels)
    file = kernels.with_name(f"wrappers.{operator}.o")
    text = source(operator, wrapped)
    headers = [HEADER, *sorted((ROOT / "common").glob("*.h"))]
    texts = [text, compiler(), *(header.read_text() for header in headers)]
    made_of = hashlib.sha256("".join(texts).encode()).hexdigest()
    once.made(file, of=made_of, make=lambda new: _made(text, new))
    words = [str(file), *(f"-Wl,--wrap={name}" for name in wrapped)]
    return " ".join(words), made_of


def _wrapped(operator: str, kernels: Path) -> list[str]:
    """The functions in an object of kernels that are called on the processor."""
    if not kernels.exists():
        return []
    pattern = re.compile(rf"{operator}_(forward|backward)_cpu_f(32|64)")
    exported, _ = symbols(kernels, dynamic=False)
    return sorted(name for name in exported if pattern.fullmatch(name))


def source(operator: str, wrapped: list[str]) -> str:
    """The wrappers in C."""
    made = ['#include "wrappers.h"']
    for name in wrapped:
        direction = "backward" if "_backward_" in name else "forward"
        made.append(_wrapper(SIGNATURES[operator], direction, name))
    return "\n".join(made)


def _wrapper(signature: Signature, direction: str, name: str) -> str:
    """One of them; arguments are in the order of operators.h."""
    if direction == "forward":
        inputs = [one.name for one in signature.inputs]
        outputs = [one.name for one in (*signature.outputs, *signature.saved)]
    else:
        starts = [f"grad_{one.name}" for one in signature.outputs]
        inputs = [*starts, *signature.backward]
        outputs = [f"grad_{one}" for one in signature.gradients]
    options = [f"{signature.name}_params_t p"] if signature.options else []
    taken = [
        "ctx_t *ctx",
        *(f"const tensor_t *{one}" for one in inputs),
        *options,
        *(f"tensor_t *{one}" for one in outputs),
    ]
    given = ["ctx", *inputs, *(["p"] if options else []), *outputs]
    return f"""
KERNEL status_t __real_{name}({", ".join(taken)});
KERNEL status_t __wrap_{name}({", ".join(taken)});
status_t __wrap_{name}({", ".join(taken)})
{{
    const tensor_t *in[] = {{{", ".join(inputs)}}};
    tensor_t *out[] = {{{", ".join(outputs)}}};
    const status_t status = __real_{name}({", ".join(given)});
    if (status != STATUS_OK) return status;
    return asked("{signature.name}_{direction}", in, {len(inputs)}, out,
                 {len(outputs)});
}}"""


def _made(text: str, new: Path) -> None:
    """Compile it."""
    code = new.with_suffix(".c")
    code.write_text(text)
    words = ["-std=c11", "-O2", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra"]
    include = [f"-I{HEADER.parent}", f"-I{ROOT / 'common'}"]
    command = [*compiler().split(), *words, *include, "-c", str(code), "-o", str(new)]
    binutils(*command, making="lab 05's kernels")
