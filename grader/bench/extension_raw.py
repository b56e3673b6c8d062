# SPDX-License-Identifier: MIT
"""Calls the kernels of lab 05 directly: no dispatcher, no check, no graph.

The difference between this time and the operator's time is the cost of PyTorch's call.
convlab_ext is linked with the same object. Here ctypes calls it, with arguments that
are made once. Scratch memory is allocated before.
"""

from __future__ import annotations

import ctypes
import mmap
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from signatures import SIGNATURES
from signatures.structs import SCRATCH, ContextC, TensorC, options_struct

from grader.course.foreign import short
from grader.course.rungs import ROOT
from grader.engine.answers import earlier_links
from grader.errors import GraderError
from grader.toolchain.extension import kernels as extension
from grader.toolchain.make import build_folder, compiler

DTYPES = {torch.float32: ("f32", 2), torch.float64: ("f64", 3)}  # and as in tensor.h
MEMORY = 1 << 30  # bytes reserved for scratch; what is not used takes no room


class Memory(ctypes.Structure):
    """raw_memory_t."""

    _fields_ = [
        ("block", ctypes.c_void_p),
        ("bytes", ctypes.c_size_t),
        ("used", ctypes.c_size_t),
    ]


class Raw:
    """An operator's kernels on the processor."""

    def __init__(self, operator: str) -> None:
        """Raises GraderError if there are none, or they cannot be linked."""
        made = extension.kernels(operator, "cpu", earlier_links.kernel_links())
        if made.file is None:
            raise GraderError(f"there are no kernels of {operator}: {made.reason}")
        self.operator, self.served = operator, made.served
        self._library = ctypes.CDLL(str(_linked(operator, made.file)))
        self._block = mmap.mmap(-1, MEMORY)
        address = ctypes.addressof(ctypes.c_char.from_buffer(self._block))
        self._memory = Memory(address, MEMORY, 0)
        scratch = ctypes.cast(self._library.raw_scratch, SCRATCH)
        self._context = ContextC(scratch=scratch)
        self._context.scratch_state = ctypes.addressof(self._memory)

    def call(
        self,
        direction: str,
        inputs: Sequence[torch.Tensor | None],
        options: Mapping[str, Any],
        outputs: Sequence[torch.Tensor],
        *,
        fresh: bool = False,
    ) -> Callable[[], list[torch.Tensor]]:
        """One call with these arguments, which returns its results: `outputs`, or with
        `fresh` new tensors like them, as a function of PyTorch returns.

        Raises GraderError if the kernel says no.
        """
        name = f"{self.operator}_{direction}"
        first = next(tensor for tensor in inputs if tensor is not None)
        function = getattr(self._library, f"{name}_cpu_{DTYPES[first.dtype][0]}")
        self._context.threads = torch.get_num_threads()
        given = [None if tensor is None else _view(tensor) for tensor in inputs]
        made = [_view(tensor) for tensor in outputs]
        arguments: list[Any] = [view and ctypes.byref(view) for view in given]
        arguments += _options(self.operator, options)
        arguments += [ctypes.byref(view) for view in made]
        here = ctypes.byref(self._context)
        kept = inputs, list(outputs)  # their memory has to stay

        def once() -> list[torch.Tensor]:
            results = kept[1]
            if fresh:
                results = [torch.empty_like(tensor) for tensor in results]
                for view, tensor in zip(made, results):
                    view.data = tensor.data_ptr()
            self._memory.used = 0
            if status := function(here, *arguments):
                raise GraderError(f"{name}: the kernel returned status {status}")
            return results

        return once


def _options(operator: str, given: Mapping[str, Any]) -> list[Any]:
    """An operator's options struct, by value; nothing if it has none."""
    signature = SIGNATURES[operator]
    struct = options_struct(signature)
    resolved = signature.resolve(given)
    values = [
        value
        for option in signature.options
        for value in option.values(resolved[option.name])
    ]
    return [struct(*values)] if struct else []


def _view(tensor: torch.Tensor) -> TensorC:
    made = TensorC(tensor.data_ptr(), tensor.dim(), DTYPES[tensor.dtype][1], 0)
    made.size[: tensor.dim()] = list(tensor.shape)
    made.stride[: tensor.dim()] = list(tensor.stride())
    return made


def _linked(operator: str, kernels: Path) -> Path:
    """The kernels and raw.c as a library."""
    file = build_folder() / "extension" / "raw" / f"{operator}.so"
    file.parent.mkdir(parents=True, exist_ok=True)
    command = [
        *compiler().split(),
        "-std=c11",
        "-O2",
        "-fPIC",
        "-shared",
        "-I",
        "common",
    ]
    command += ["-o", str(file), "grader/bench/raw.c", str(kernels), "-fopenmp", "-lm"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    if done.returncode:
        said = short(done.stderr, 200)
        raise GraderError(f"cannot link {operator}'s kernels: {said}")
    return file
