# SPDX-License-Identifier: MIT
"""Holds one case for a worker: its tensors are prepared once and may run many times."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import torch

from grader.runner.supervisor.wire import (
    DTYPES,
    FILLED,
    MAX_DIMS,
    PRESENT,
    SECOND,
    SIDE_TENSORS,
    Request,
)

_CODES = {getattr(torch, name): code for code, name in enumerate(DTYPES)}


class Run(IntEnum):
    """What a command asks for: the RUN_ bits of protocol.h."""

    FORWARD = 1
    BACKWARD = 2
    MODULE = 8
    AUDIT = 16
    DEFAULTS = 32
    NO_SCRATCH = 64
    TIMED = 128
    REVERSE = 256
    COUNT = 1024  # what is moved, and not races
    SECOND = 2048  # derivatives of the gradients, in the places of both
    RANDOM = 512  # the seed of the order stands SEED_SHIFT bits higher
    EDIT = 4096  # in a build of the diagnosis; its number stands EDIT_SHIFT bits higher


SEED_SHIFT = REPEAT_SHIFT = REFUSE_SHIFT = EDIT_SHIFT = 16


class Placement(IntEnum):
    """Where a tensor lies in its slot: the PLACE_ values of core.h."""

    RIGHT = 0
    LEFT = 1
    ALIGN = 2


@dataclass(frozen=True)
class Output:
    """A tensor that a call is to fill; or one that is `filled` before: backward reads
    a saved tensor so, with any strides.
    """

    shape: tuple[int, ...]
    dtype: torch.dtype
    filled: torch.Tensor | None = None


class Call:
    """One case: inputs, options, and room for the outputs.

    `inputs` and `outputs` go by position as in calls.h: inputs and grad_outputs;
    results, saved tensors, gradients. None stands for NULL. Inputs keep their strides;
    `tensors` holds the outputs after a run.
    """

    def __init__(
        self,
        op: int,
        run: int,
        inputs: Sequence[torch.Tensor | None],
        outputs: Sequence[Output | None],
        *,
        options: bytes = b"",
        threads: int = 1,
        copies: int = 1,
        placement: Placement = Placement.RIGHT,
        freeze: bool = True,
        deadline: float = 2.0,
    ) -> None:
        request = Request()
        request.op, request.run = op, run
        request.calls, request.threads = copies, threads
        request.placement, request.freeze = placement, freeze
        request.deadline_ns = int(deadline * SECOND)
        self.limit = deadline  # seconds
        ctypes.memmove(request.options, options, len(options))
        self.request = request
        self.pointer = ctypes.pointer(request)
        self.copies = copies
        self.hosts: list[torch.Tensor | None] = [None] * SIDE_TENSORS
        self.tensors: list[torch.Tensor | None] = []
        for i, tensor in enumerate(inputs):
            if tensor is not None:
                self._describe(i, tuple(tensor.shape), tensor.stride(), tensor.dtype)
                self.set_input(i, tensor)
        for i, output in enumerate(outputs):
            self.tensors.append(None)
            if output is None:
                continue
            if output.filled is not None:
                self._fill(SIDE_TENSORS + i, output.filled)
                continue
            host = torch.zeros((copies, *output.shape), dtype=output.dtype)
            self._describe(
                SIDE_TENSORS + i, output.shape, host[0].stride(), output.dtype
            )
            request.side[SIDE_TENSORS + i].host = host.data_ptr()
            self.tensors[i] = host if copies > 1 else host[0]

    def _describe(
        self, i: int, shape: Sequence[int], stride: Sequence[int], dtype: torch.dtype
    ) -> None:
        if len(shape) > MAX_DIMS:
            raise ValueError(
                f"a tensor has {len(shape)} axes, but at most {MAX_DIMS} are allowed"
            )
        side = self.request.side[i]
        side.present, side.ndim, side.dtype = PRESENT, len(shape), _CODES[dtype]
        for d, (extent, step) in enumerate(zip(shape, stride)):
            side.size[d], side.stride[d] = extent, step

    def _fill(self, i: int, tensor: torch.Tensor) -> None:
        """Hand over an output that holds numbers before the call."""
        self._describe(i, tuple(tensor.shape), tensor.stride(), tensor.dtype)
        self.request.side[i].present = FILLED
        dense = tensor.detach().contiguous()
        self.hosts.append(dense)  # keeps the memory alive
        self.request.side[i].host = dense.data_ptr()

    def set_input(self, i: int, tensor: torch.Tensor) -> None:
        """Give input `i` other values; shape, strides and dtype stay as they were.

        With several copies a leading axis may hold one block of values for each.
        """
        dense = tensor.detach().contiguous()
        if self.copies > 1 and dense.dim() == self.request.side[i].ndim:
            dense = dense.expand(self.copies, *dense.shape).contiguous()
        self.hosts[i] = dense  # keeps the memory alive
        self.request.side[i].host = dense.data_ptr()
