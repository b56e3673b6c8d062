# SPDX-License-Identifier: MIT
"""Calls an operator of convlab_ext for the gates: by function, and by schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

import torch
from signatures.of_exhibits import ALL

ASKS = "CONVLAB_ASKS"  # names the socket that a kernel's results come from, if any
Tensors = dict[str, torch.Tensor]
Named = list[tuple[str, torch.Tensor]]
Job = Mapping[str, Any]
Results = tuple[torch.Tensor, ...]


class Broken(Exception):
    """The contract is broken; the text says how, and what to do.

    `results` are what the gate has computed before it saw this.
    """

    def __init__(self, text: str, results: Named | None = None) -> None:
        super().__init__(text)
        self.results = results or []


class Borrowed(Exception):
    """PyTorch's own operator is at work; the text says where."""


class Skipped(Exception):
    """This machine lacks what the gate needs; the text says what."""


class Bound:
    """The public function, and the two operators of the dispatcher."""

    def __init__(self, package: ModuleType, name: str) -> None:
        self.name = name
        self.package = package
        self.signature = ALL[name]
        self.public: Callable[..., Any] = getattr(package, name)
        self.names = [argument.name for argument in self.signature.inputs]

    def operator(self, *, backward: bool = False) -> Any:
        """torch.ops.convlab.conv2d.default, or conv2d_backward's."""
        name = f"{self.name}_backward" if backward else self.name
        space = torch.ops.convlab
        if not hasattr(space, name):
            raise Broken(
                f"there is no torch.ops.convlab.{name}: register its schema (m.def) "
                "and its kernels (m.impl) in C++"
            )
        return getattr(space, name).default

    def call(
        self, tensors: Mapping[str, Any], options: Mapping[str, Any]
    ) -> tuple[torch.Tensor, ...]:
        """The results of the public function with these inputs and options."""
        given = {n: tensors[n] for n in self.names if tensors.get(n) is not None}
        if name := self.signature.shape_argument:
            given[name] = self._last_size(tensors)
        found = self.public(**given, **options)
        return (found,) if isinstance(found, torch.Tensor) else tuple(found)

    def _last_size(self, tensors: Mapping[str, Any]) -> Any:
        """What PyTorch is told of the first input's shape where only one axis counts"""
        return list(tensors[self.names[0]].shape[-1:])

    def of(self, job: Job, names: Sequence[str]) -> Callable[..., Results]:
        """A function of the inputs `names` alone; the others are the job's."""

        def function(*given: torch.Tensor) -> Results:
            tensors = {**job["tensors"], **dict(zip(names, given))}
            return self.call(tensors, job["options"])

        return function

    def named(self, results: Sequence[torch.Tensor]) -> Named:
        """The results with their names."""
        return [
            (one.name, found) for one, found in zip(self.signature.outputs, results)
        ]

    def wanted(self, job: Job) -> list[str]:
        """The inputs of a job that have a gradient and are there."""
        return [n for n in self.signature.gradients if n in job["tensors"]]

    def arguments(
        self, operator: Any, job: Job, mask: Sequence[bool] = ()
    ) -> tuple[Any, ...]:
        """What an operator is handed, read off its schema."""
        return tuple(
            self._argument(one, job, list(mask)) for one in operator._schema.arguments
        )

    def order_of(self, operator: Any) -> str:
        """How the schema's order of arguments differs from PyTorch's; "" if not."""
        right = self.signature.arguments
        order = [one.name for one in operator._schema.arguments]
        if order == right or sorted(order) != sorted(right):
            return ""
        return (
            f"the schema of {self.name} has the order {', '.join(order)}, but "
            f"PyTorch's order is {', '.join(right)}"
        )

    def _argument(self, one: Any, job: Job, mask: list[bool]) -> Any:
        tensors, options, name = job["tensors"], job["options"], one.name
        if name in job.get("grad_outputs", ()):
            return job["grad_outputs"][name]
        if name in job.get("results", ()):
            return job["results"][name]
        if name == "output_mask":
            return mask or [True] * len(self.signature.gradients)
        if name in self.names:
            return tensors.get(name)
        if name == self.signature.shape_argument:
            return self._last_size(tensors)
        if name in options:
            value = options[name]
            return list(value) if isinstance(value, (tuple, list)) else value
        if name.endswith("_size") and name.removesuffix("_size") in tensors:
            sizes = list(tensors[name.removesuffix("_size")].shape)
            return sizes[-one.N :] if one.N else sizes
        raise Broken(
            f"the schema of {self.name} has an argument '{name}', but no input, option "
            "or result of the operator has this name"
        )


def leaves(job: Job, names: Sequence[str]) -> Tensors:
    """The job's tensors `names` as leaves that ask for a gradient, strides kept."""
    return {n: job["tensors"][n].detach().requires_grad_() for n in names}
