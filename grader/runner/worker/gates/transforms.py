# SPDX-License-Identifier: MIT
"""Gates for derivatives and batches: gradgradcheck, forward AD, torch.func and vmap."""

from __future__ import annotations

import os
import re
import sys
from ast import literal_eval
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.autograd import forward_ad
from torch.autograd.gradcheck import GradcheckError
from torch.autograd.gradcheck import gradgradcheck as second_check

from grader.runner.worker.gates.bound import (
    ASKS,
    Bound,
    Broken,
    Job,
    Named,
    Tensors,
    leaves,
)
from grader.runner.worker.student_rules import quoted

GRADGRADCHECK: dict[str, Any] = {
    "eps": 1e-6,
    "rtol": 1e-5,
    "atol": 1e-6,
    "nondet_tol": 1e-12,
}
REFUSALS = ("jvp", "forward-mode", "forward mode", "forward AD", "forward_ad")
SILENT = (
    "forward-mode AD gives no tangent and no error, and PyTorch treats a missing "
    "tangent as zero. `register` puts a kernel on the key Autograd. If a dual level "
    "is open (forward_ad), this kernel must apply the rules with `jvp`, or raise an "
    "exception"
)
Moving = tuple[torch.Tensor, ...]
FUNCTORCH: Any = torch._C._functorch
MATRICES = re.compile(
    r"mismatch for output (\d+) with respect to input (\d+), "
    r"numerical:\s?tensor\((\[[^a-z]+\])(?:, [^()]*)?\) "
    r"analytical:\s?tensor\((\[[^a-z]+\])(?:, [^()]*)?\)"
)
FALLBACK = re.compile(r"(\S+) hit the vmap fallback")


@contextmanager
def no_loop() -> Iterator[None]:
    """vmap without its substitute for a missing rule: a call for each example."""
    enabled = FUNCTORCH._is_vmap_fallback_enabled()
    FUNCTORCH._set_vmap_fallback_enabled(False)  # noqa: FBT003
    try:
        yield
    except RuntimeError as error:
        if not (found := FALLBACK.search(str(error))):
            raise
        raise Broken(_looped(found[1])) from error
    finally:
        FUNCTORCH._set_vmap_fallback_enabled(enabled)


def _looped(operator: str) -> str:
    """What to do about an operator that vmap has no rule for."""
    mend = (
        "write the rule `vmap` of this operator, and register it "
        "(torch.library.register_vmap)"
    )
    if not operator.startswith("convlab::"):
        mend = (
            "call another operator in the rule `vmap`, for example one of convlab's "
            "operators"
        )
    return (
        f"{operator} has no batching rule: torch.vmap would call it once for each "
        f"example, in a loop; {mend}"
    )


def vmap(bound: Bound, job: Job) -> Named:
    """torch.vmap over some inputs; a loop is what it is compared with."""
    names = [name for name in bound.names if name in job["tensors"]]
    function = bound.of(job, names)
    for axes in job["in_dims"]:  # the inner one first
        dims = tuple(axes.get(name) for name in names)
        function = torch.vmap(function, in_dims=dims)
    with no_loop():
        return bound.named(function(*(job["tensors"][name] for name in names)))


def torch_func(bound: Bound, job: Job) -> Named:
    """torch.func.vjp under vmap: gradients of each example."""
    names = bound.wanted(job)
    dims = tuple(job["in_dims"].get(name) for name in names)

    def gradients(starts: tuple[torch.Tensor, ...], *given: torch.Tensor) -> object:
        pull: Any = torch.func.vjp(bound.of(job, names), *given)[1]
        return pull(starts)

    given = [job["tensors"][name] for name in names]
    mapped: Any = torch.vmap(gradients, in_dims=(0, *dims))
    with no_loop():
        found = mapped(tuple(job["grad_outputs"].values()), *given)
    return [(f"grad_{name}", one) for name, one in zip(names, found)]


def forward_mode(bound: Bound, job: Job) -> Named:
    """A tangent by torch.func.jvp and by dual numbers; both may refuse, with words.

    Then tangents of the gradients, as torch.func.hessian asks for them.
    """
    names = list(job["tangents"])
    function = bound.of(job, names)
    primals = tuple(job["tensors"][name] for name in names)
    tangents = tuple(job["tangents"][name] for name in names)
    results: Named = []
    try:
        found = torch.func.jvp(function, primals, tangents)[1]
        results += [("tangent", one) for one in found]
    except (NotImplementedError, RuntimeError) as error:
        _refused(error)
    with forward_ad.dual_level():
        pairs = [forward_ad.make_dual(p, t) for p, t in zip(primals, tangents)]
        try:
            found = [forward_ad.unpack_dual(r).tangent for r in function(*pairs)]
        except (NotImplementedError, RuntimeError) as error:
            _refused(error)
            return results
    if any(one is None for one in found):
        raise Broken(SILENT)
    results += [("tangent", one) for one in found]
    return [*results, *_moving_gradients(bound, job, primals, tangents)]


def _moving_gradients(
    bound: Bound, job: Job, primals: Moving, tangents: Moving
) -> Named:
    """How the gradients change along the tangents: forward mode over backward."""
    names = list(job["tangents"])
    starts = tuple(job["grad_outputs"].values())

    def gradients(*given: torch.Tensor) -> object:
        pull: Any = torch.func.vjp(bound.of(job, names), *given)[1]
        return pull(starts)

    try:
        found: Any = torch.func.jvp(gradients, primals, tangents)[1]
    except (NotImplementedError, RuntimeError) as error:
        _refused(error)
        return []
    return [(f"tangent of grad_{name}", one) for name, one in zip(names, found)]


def _refused(error: Exception) -> None:
    """A refusal is right if it says that it is one."""
    if not any(word in str(error) for word in REFUSALS):
        raise error


def gradgradcheck(bound: Bound, job: Job) -> Named:
    """Second derivatives: by finite differences here, their values compared outside."""
    names = bound.wanted(job)
    given = leaves(job, names)
    function = bound.of(job, names)
    starts = {n: t.detach().requires_grad_() for n, t in job["grad_outputs"].items()}
    first = torch.autograd.grad(
        function(*given.values()),
        list(given.values()),
        list(starts.values()),
        create_graph=True,
    )
    if not all(gradient.requires_grad for gradient in first):
        raise Broken(
            f"the gradients cannot be differentiated again: convlab::{bound.name}"
            "_backward needs its own rules (`register` it, with a `backward`)"
        )
    sources = [*starts.values(), *given.values()]
    second = torch.autograd.grad(first, sources, job["second"], allow_unused=True)
    results: Named = [
        (f"second_{name}", torch.zeros_like(source) if one is None else one)
        for name, source, one in zip([*starts, *names], sources, second)
    ]
    try:
        with all_digits(), without_mark():
            inputs, outputs = tuple(given.values()), tuple(starts.values())
            second_check(function, inputs, outputs, **GRADGRADCHECK)
    except GradcheckError as error:
        words = _furthest(str(error), {**given, **starts})
        raise Broken(
            "gradgradcheck: the second derivatives are not the derivatives of the "
            f"first: check the rule `backward` of {bound.name}_backward ({words})",
            results,
        ) from error
    return results


@contextmanager
def without_mark() -> Iterator[None]:
    """Finite differences are thousands of calls: their kernels ask nobody."""
    asks = os.environ.pop(ASKS, None)
    try:
        yield
    finally:
        if asks:
            os.environ[ASKS] = asks


@contextmanager
def all_digits() -> Iterator[None]:
    """gradcheck hands its matrices over as text alone; that has to hold all of them."""
    torch.set_printoptions(precision=12, threshold=sys.maxsize, linewidth=1 << 20)
    try:
        yield
    finally:
        torch.set_printoptions(profile="default")


def _furthest(text: str, inputs: Tensors) -> str:
    """The element of a matrix of second derivatives that is furthest from what finite
    differences say. Rows are elements of an input, columns those of a first gradient.
    """
    words = " ".join(text.split())
    if not (found := MATRICES.search(words)):
        return quoted(words, 200)
    names = list(inputs)
    of, to = names[int(found[1])], names[int(found[2])]
    right, got = (torch.tensor(literal_eval(matrix)) for matrix in found.group(3, 4))
    row, column = divmod(int((got - right).abs().argmax()), right.shape[1])
    at_of, at_to = (
        [int(i) for i in torch.unravel_index(torch.tensor(i), inputs[name].shape)]
        for name, i in ((of, column), (to, row))
    )
    return (
        f"the derivative of 'grad_{of}'{at_of} with respect to '{to}'{at_to} is "
        f"{got[row, column]:.9g}, but finite differences give {right[row, column]:.9g}"
    )
