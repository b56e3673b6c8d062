# SPDX-License-Identifier: MIT
"""Computes the results of a gate's call again with PyTorch, from changed arguments.

Nothing is computed before a gate has failed. A call has its tensors by name: inputs,
gradients of results, tangents, and gradients of first gradients. In the gates vmap and
torch_func some of the tensors have an axis for the examples.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from grader.checks.gates.expectations import moving
from grader.checks.gates.factor import marked
from grader.operators import Case, Operator

Tensors = Mapping[str, torch.Tensor]
Results = list[torch.Tensor]
TANGENT = "the tangent of "
SECOND = "the gradient of grad_"  # an argument of the double backward
KINDS = {  # gate -> what it computes, and how often it returns all of it
    "errors": ("outputs", 1),
    "opcheck": ("outputs", 1),
    "vmap": ("outputs", 1),
    "autocast": ("outputs", 2),
    "export": ("outputs", 1),
    "onnx": ("outputs", 1),
    "compile": ("outputs", 1),
    "cuda": ("outputs", 1),
    "opcheck_backward": ("gradients", 1),
    "compile_backward": ("gradients", 1),
    "cuda_backward": ("gradients", 1),
    "mask": ("gradients", 2),
    "torch_func": ("gradients", 1),
    "forward_ad": ("tangents", 1),
    "gradgradcheck": ("second", 1),
}


@dataclass(frozen=True)
class AgainCall:
    """One call of a gate, and how PyTorch computes the results of such a call."""

    operator: Operator  # with the gate's mark
    exact: bool  # whether it has no mark
    wanted: tuple[str, ...]  # inputs that have a gradient or a tangent
    kind: str  # outputs, gradients, tangents or second
    times: int  # how often the gate returns all of it
    tensors: dict[str, torch.Tensor]
    options: dict[str, Any]
    # name -> axis of the examples, the outer batch first
    batches: tuple[dict[str, int], ...] = ()
    counts: tuple[int, ...] = ()  # of the examples, by batch

    @property
    def inputs(self) -> list[str]:
        """The names of the operator's inputs, in order."""
        return [argument.name for argument in self.operator.signature.inputs]

    @property
    def examples(self) -> int:
        """How many examples the outer batch has; 0 if there is no batch."""
        return self.counts[0] if self.counts else 0

    def results(
        self, tensors: Tensors | None = None, options: Mapping[str, Any] | None = None
    ) -> Results:
        """The results with these tensors and options in place of the call's."""
        tensors = self.tensors if tensors is None else tensors
        options = self.options if options is None else options
        return self._of_batch(tensors, options, self.batches) * self.times

    def _of_batch(
        self,
        tensors: Tensors,
        options: Mapping[str, Any],
        batches: tuple[dict[str, int], ...],
    ) -> Results:
        """The results of each example, stacked."""
        if not batches:
            return self._of_one(tensors, options)
        axes, *inner = batches
        examples = [
            self._of_batch(
                {
                    n: t.select(axes[n], b) if n in axes else t
                    for n, t in tensors.items()
                },
                options,
                tuple(inner),
            )
            for b in range(self.counts[len(self.batches) - len(batches)])
        ]
        return [torch.stack(column) for column in zip(*examples)]

    def _of_one(self, tensors: Tensors, options: Mapping[str, Any]) -> Results:
        """The results of one example."""

        def function(given: Tensors) -> tuple[torch.Tensor, ...]:
            found = self.operator.reference(
                *(given.get(n) for n in self.inputs), **options
            )
            return (found,) if isinstance(found, torch.Tensor) else tuple(found)

        inputs = {n: tensors[n] for n in self.inputs if n in tensors}
        if self.kind == "outputs":
            with torch.no_grad():
                return list(function(inputs))
        starts = [
            t
            for n, t in tensors.items()
            if n not in self.inputs and not n.startswith((TANGENT, SECOND))
        ]
        if self.kind == "tangents":
            along = {
                n: tensors[f"{TANGENT}{n}"].contiguous()
                for n in self.wanted
                if f"{TANGENT}{n}" in tensors
            }
            by_number = {str(i): start for i, start in enumerate(starts)}
            return [one.value for one in moving(function, inputs, along, by_number)]
        leaves = {n: t.detach().clone() for n, t in inputs.items()}
        asked = [leaves[n].requires_grad_() for n in self.wanted if n in leaves]
        again = self.kind == "second"
        begin = [t.detach().clone().requires_grad_(again) for t in starts]
        first = torch.autograd.grad(
            function(leaves), asked, begin, create_graph=again, allow_unused=True
        )
        if not again:
            return [_or_zeros(g, leaf) for g, leaf in zip(first, asked)]
        pairs = [
            (gradient, tensors[f"{SECOND}{name}"])
            for gradient, name in zip(first, (n for n in self.wanted if n in leaves))
            if gradient is not None and f"{SECOND}{name}" in tensors
        ]
        sources = [*begin, *asked]
        found = torch.autograd.grad(
            [gradient for gradient, _ in pairs],
            sources,
            [of_gradient for _, of_gradient in pairs],
            allow_unused=True,
        )
        return [_or_zeros(g, source) for g, source in zip(found, sources)]


def _or_zeros(found: torch.Tensor | None, like: torch.Tensor) -> torch.Tensor:
    """A gradient; zeros if there is none."""
    return torch.zeros_like(like) if found is None else found.detach()


def of_request(
    operator: Operator, gate: str, request: Mapping[str, Any], mark: float | None
) -> AgainCall:
    """The call of a gate's job."""
    kind, times = KINDS[gate]
    if gate == "mask" and len(operator.signature.gradients) < 2:
        times = 1
    right = marked(operator, mark) if mark else operator
    signature = operator.signature
    tensors = {
        n: t.double() if t.is_floating_point() else t
        for n, t in request["tensors"].items()
    }
    starts = dict(request.get("grad_outputs", {})) if kind != "outputs" else {}
    tangents = dict(request.get("tangents", {})) if kind == "tangents" else {}
    wanted = [n for n in signature.gradients if n in (tangents or tensors)]
    tensors |= starts
    tensors |= {f"{TANGENT}{n}": t for n, t in tangents.items()}
    if kind == "second":
        tensors |= {f"{SECOND}{n}": t for n, t in zip(wanted, request["second"])}
    axes = request.get("in_dims", [])
    batches = [{**axes, **dict.fromkeys(starts, 0)}] if isinstance(axes, dict) else axes
    return AgainCall(
        right,
        mark is None,
        tuple(wanted),
        kind,
        times,
        tensors,
        dict(request["options"]),
        tuple(reversed(batches)),
        tuple(_counts(tensors, list(reversed(batches)))),
    )


def of_case(operator: Operator, case: Case) -> AgainCall:
    """The call of a case, with tensors that have sizes and no numbers."""
    shapes = operator.input_shapes(case)
    tensors = {n: torch.empty(shape, device="meta") for n, shape in shapes.items()}
    options = operator.signature.resolve(case.options)
    return AgainCall(
        operator,
        exact=True,
        wanted=(),
        kind="outputs",
        times=1,
        tensors=tensors,
        options=options,
    )


def _counts(tensors: Tensors, batches: list[dict[str, int]]) -> Iterator[int]:
    """How many examples each batch has, the outer one first."""
    for axes in batches:
        name, axis = next(iter(axes.items()))
        yield tensors[name].shape[axis]
        tensors = {
            n: t.select(axes[n], 0) if n in axes else t for n, t in tensors.items()
        }
