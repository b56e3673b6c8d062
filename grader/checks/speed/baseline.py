# SPDX-License-Identifier: MIT
"""Times PyTorch in this process, under the best conditions for PyTorch.

The process keeps the memory that it frees (machine.keep_memory). PyTorch runs its own
default backend. As for the student, fresh inputs are in place, and the output's memory
was written a short time ago.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np
import torch

from grader.checks.speed import timing
from grader.operators import Case, Operator
from grader.operators.entry import Tensors
from grader.toolchain import isa

KEY_BYTES = 16  # of a generator that uses them all
BOTH = "forward+backward"  # as a direction: one after the other, timed as one
DEFAULT, SLOW2D, CHANNELS_LAST = "pytorch", "slow2d", "channels_last"
VARIANTS = (DEFAULT, SLOW2D, CHANNELS_LAST)  # of conv2d; others know only the default
_BACKENDS = {"Mkldnn": "oneDNN", "NnpackSpatial": "NNPACK"}


class Data:
    """Inputs and grad_outputs of `copies` calls, drawn anew for every round.

    A round's numbers come from 128 bits of the system, its `key`, which this process
    alone knows. From the seed, or from the numbers of one round, student code could
    work out all that follow, and their results before they are timed.
    """

    def __init__(self, operator: Operator, case: Case, copies: int, seed: int) -> None:
        kind = torch.float32
        inputs = operator.inputs(case, kind, seed)
        outputs = operator.outputs(inputs, case)
        grads = operator.grad_outputs(case, outputs, kind, seed)
        self.copies = copies
        self.inputs = {name: _stack(t, copies) for name, t in inputs.items()}
        self.grads = [_stack(t, copies) for t in grads]
        self.outputs = outputs  # for their shapes
        self._given = inputs
        self.key = 0

    def renew(self, key: int | None = None) -> None:
        """Other numbers everywhere; rows of integers (coordinates) change places. With
        a `key` those of an earlier round again.
        """
        fresh = int.from_bytes(os.urandom(KEY_BYTES), "little")
        self.key = fresh if key is None else key
        rng = np.random.Generator(np.random.Philox(key=self.key))
        for tensor in (*self.inputs.values(), *self.grads):
            if tensor.is_floating_point():
                rng.standard_normal(dtype=np.float32, out=tensor.numpy())
        for name, given in self._given.items():
            if not given.is_floating_point():
                for rows in self.inputs[name]:  # the same points in another order
                    rows.copy_(given[torch.from_numpy(rng.permutation(len(given)))])

    def of_call(self, k: int) -> tuple[Tensors, list[torch.Tensor]]:
        """The tensors of one call."""
        return {n: t[k] for n, t in self.inputs.items()}, [t[k] for t in self.grads]


def _stack(tensor: torch.Tensor, copies: int) -> torch.Tensor:
    return tensor.expand(copies, *tensor.shape).contiguous()


class PyTorch:
    """The reference operator as a side: some calls a sample, on private tensors."""

    def __init__(
        self,
        operator: Operator,
        case: Case,
        direction: str,
        data: Data,
        calls: int,
        *,
        variant: str = DEFAULT,
    ) -> None:
        """`variant` is one of VARIANTS."""
        self.variant = variant
        layout = torch.channels_last if variant == CHANNELS_LAST else None
        self.operator, self.case, self.data = operator, case, data
        self.backward = direction != "forward"
        saved = bool(operator.signature.saved)
        self.with_forward = direction == BOTH or (self.backward and saved)
        self.options = operator.signature.resolve(case.options)
        asked = zip(operator.signature.gradients, operator.wanted(case))
        self.wanted = [name for name, wanted in asked if wanted and name in data.inputs]
        self._watch = timing.Stopwatch()
        self.results: list[tuple[torch.Tensor, ...]] = []
        self._mine: list[tuple[Tensors, list[torch.Tensor]]] = []
        for k in range(calls):
            inputs, grads = data.of_call(k)
            held = {n: _copy(t, layout) for n, t in inputs.items()}
            if self.backward:
                for name in self.wanted:
                    held[name].requires_grad_()
            self._mine.append((held, [_copy(g, layout) for g in grads]))
        self._work: list[Callable[[], Any]] = []

    def prepare(self) -> None:
        """Fresh inputs, a graph for backward, and output memory lately written."""
        self.results, self._work = [], []
        for k, (inputs, grads) in enumerate(self._mine):
            fresh, fresh_grads = self.data.of_call(k)
            with torch.no_grad():
                for name, tensor in inputs.items():
                    tensor.copy_(fresh[name])
                for mine, new in zip(grads, fresh_grads):
                    mine.copy_(new)
            read = self.operator.read_from_data(fresh)
            self._work.append(self._one(inputs, grads, read))
        if not self.backward:
            shapes = [o.shape for o in self.data.outputs] * len(self._mine)
            blocks = [torch.full(shape, float("nan")) for shape in shapes]
            del blocks  # the allocator gives them to the outputs

    def _forward(
        self, inputs: Tensors, read: dict[str, Any]
    ) -> tuple[torch.Tensor, ...]:
        arguments = [inputs.get(a.name) for a in self.operator.signature.inputs]
        result = self.operator.reference(*arguments, **read, **self.options)
        return result if isinstance(result, tuple) else (result,)

    def _one(
        self, inputs: Tensors, grads: list[torch.Tensor], read: dict[str, Any]
    ) -> Callable[[], Any]:
        """What one timed call does. What it has to `read` from a tensor's numbers is
        read before: a card's queue would run dry while the processor waits for it.
        """
        leaves = [inputs[name] for name in self.wanted]
        forward = partial(self._forward, inputs, read)
        if not self.backward:
            return forward
        if self.with_forward:
            return lambda: torch.autograd.grad(forward(), leaves, grads)
        outputs = forward()
        return lambda: torch.autograd.grad(outputs, leaves, grads)

    def result_of(self, k: int) -> tuple[torch.Tensor, ...]:
        """The result of a call: one of the last sample, or computed now."""
        if k < len(self.results):
            return self.results[k]
        inputs, grads = self.data.of_call(k)
        held = {name: tensor.clone() for name, tensor in inputs.items()}
        for name in self.wanted if self.backward else ():
            held[name].requires_grad_()
        with torch.set_grad_enabled(self.backward):
            return tuple(self._one(held, grads, {})())

    def sample(self) -> timing.Sample:
        """All calls, one after the other."""

        def work() -> None:
            for call in self._work:
                self.results.append(call())

        with torch.set_grad_enabled(self.backward), self._backend():
            return self._watch.time(work, len(self._work))

    def _backend(self) -> ExitStack:
        """Slow2d is what is left where the faster libraries are switched off."""
        stack = ExitStack()
        if self.variant == SLOW2D:
            was = torch._C._get_mkldnn_enabled()
            stack.callback(torch._C._set_mkldnn_enabled, was)
            torch._C._set_mkldnn_enabled(False)  # noqa: FBT003 - its only argument
            stack.enter_context(torch.backends.nnpack.flags(enabled=False))
        return stack


def _copy(tensor: torch.Tensor, layout: torch.memory_format | None) -> torch.Tensor:
    if layout is None or tensor.dim() != 4:
        return tensor.clone()
    return tensor.clone(memory_format=layout)


def name(operator: Operator, case: Case, data: Data, direction: str) -> str:
    """What exactly PyTorch runs: pytorch/oneDNN, pytorch/MKL ..."""
    inputs, _ = data.of_call(0)
    library = _library(operator, case, inputs)
    text = f"pytorch/{library}{held(library)}"
    saved = direction == "backward" and operator.signature.saved
    return f"{text} {BOTH}" if saved else text


# what computes for a library's name, as isa.not_held calls it
_COMPUTES = {"MKL": "MKL", "Slow2d": "MKL", "composed, MKL": "MKL", "oneDNN": "oneDNN"}


def held(library: str) -> str:
    """Words for a library that may use wider vectors than ISA= allows."""
    loose = isa.not_held(torch.backends.cpu.get_cpu_capability())
    free = _COMPUTES.get(library, isa.OWN_KERNELS) in loose
    return f" (not held to {isa.held()})" if free else ""


def _library(operator: Operator, case: Case, inputs: Tensors) -> str:
    if operator.name in ("conv2d", "depthwise_conv2d"):
        options = operator.signature.resolve(case.options)
        weight = inputs["weight"]
        bias = inputs.get("bias")
        backend = torch._C._select_conv_backend(
            inputs["input"],
            weight,
            bias,
            options["stride"],
            options["padding"],
            options["dilation"],
            False,  # noqa: FBT003 - not transposed; the function takes positions only
            (0, 0),
            options.get("groups", inputs["input"].shape[1]),
            None if bias is None else list(bias.shape),
        )
        return _BACKENDS.get(backend.name, str(backend.name))
    if operator.name in ("matmul", "linear", "lltm"):
        blas = "MKL" if torch.backends.mkl.is_available() else "BLAS"
        return blas if operator.name != "lltm" else f"composed, {blas}"
    if operator.name == "subm_conv3d":
        return "dense conv3d and gather"
    return "native"
