# SPDX-License-Identifier: MIT
"""Rungs of lab 04 beside PyTorch on a GPU, at the sizes of the goals, in a minute.

    python -m tests.proofs.card_times [--only matmul,conv2d] [--out FILE.json]

The grader's stopwatch (`make bench LAB=04`) keeps a rung's process apart and checks its
events from outside, which takes seconds a row. This calls the same shared objects by
ctypes on PyTorch's own tensors: for our own files only, where minutes of a card count.

A time is the median of single calls, each between two events, behind a kernel that
fills the queue and with the L2 cache overwritten. The sides take turns in random order.
A rung that needs longer than a tenth of a second is left out of the case. Errors are
||output - exact|| / ||exact||, exact in float64.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from signatures import SIGNATURES
from signatures.structs import SCRATCH, ContextC, TensorC, options_struct

from grader.checks.speed.gpu_speed import precision
from grader.course.tasks import all_tasks
from grader.engine.checking.compiling import Builds
from grader.toolchain import gpu_probe
from grader.toolchain.make import build_tools
from grader.toolchain.products import GPU
from tests import ALL_RIGHT

Work = Callable[[], Any]
F32, CARD = 2, 1  # the codes of tensor.h
SECONDS = 0.12  # for each side of a case
FEWEST, MOST = 9, 200  # calls
SLOW = 0.1  # seconds of a call
PLUG = 1_000_000  # clock cycles, about half a millisecond
FLUSHED = 4  # the L2 cache so many times over
LAYERS = {  # N, IC, height and width, OC, kernel, stride, padding
    "r56_64": (8, 64, 56, 64, 3, 1, 1),
    "r28_128": (8, 128, 28, 128, 3, 1, 1),
    "r14_256": (8, 256, 14, 256, 3, 1, 1),
    "r7_512": (8, 512, 7, 512, 3, 1, 1),
    "r56_64, N 64": (64, 64, 56, 64, 3, 1, 1),
    "r28_128, N 64": (64, 128, 28, 128, 3, 1, 1),
    "stride 2, N 64": (64, 64, 56, 128, 3, 2, 1),
    "1x1_56, N 32": (32, 256, 56, 64, 1, 1, 0),
}


@dataclass(frozen=True)
class Case:
    """One call of an operator's forward, and what it has to give."""

    name: str
    inputs: tuple[torch.Tensor, ...]
    options: Mapping[str, int]
    pytorch: Callable[..., torch.Tensor]
    flops: float

    @property
    def exact(self) -> torch.Tensor:
        """In float64."""
        return self.pytorch(*(t.double() for t in self.inputs), **self.options)


class Rung:
    """A rung's forward, called on PyTorch's tensors."""

    def __init__(self, operator: str, library: Path) -> None:
        self.signature = SIGNATURES[operator]
        self.options = options_struct(self.signature)
        self.function = getattr(ctypes.CDLL(str(library)), f"{operator}_forward")
        self._taken: list[torch.Tensor] = []
        self._scratch = SCRATCH(self._give)

    def _give(self, _: Any, size: int) -> int:
        block = torch.empty(max(size, 1), dtype=torch.uint8, device="cuda")
        self._taken.append(block)
        return block.data_ptr()

    def __call__(self, case: Case, output: torch.Tensor) -> None:
        """Raises RuntimeError if it does not return STATUS_OK."""
        context = ContextC()
        context.threads, context.device, context.scratch = 1, CARD, self._scratch
        context.stream = torch.cuda.current_stream().cuda_stream
        words: list[Any] = [ctypes.byref(context)]
        words += [ctypes.byref(as_tensor(tensor)) for tensor in case.inputs]
        if self.options:
            words.append(
                self.options.from_buffer_copy(self.signature.pack(case.options))
            )
        status = self.function(*words, ctypes.byref(as_tensor(output)))
        self._taken.clear()  # PyTorch gives a block again on the same stream, in order
        if status:
            raise RuntimeError(f"status {status}: {context.error.decode()}")


def as_tensor(tensor: torch.Tensor) -> TensorC:
    """What tensor.h says of a tensor of floats on the card."""
    made = TensorC()
    made.data, made.ndim, made.dtype, made.device = (
        tensor.data_ptr(),
        tensor.dim(),
        F32,
        CARD,
    )
    for d in range(tensor.dim()):
        made.size[d], made.stride[d] = tensor.size(d), tensor.stride(d)
    return made


def cases(operator: str) -> Iterator[Case]:
    """The sizes of the goals."""
    torch.manual_seed(1)
    if operator == "matmul":
        for n in (1024, 2048, 4096, 8192):
            pair = random_of(n, n), random_of(n, n)
            yield Case(str(n), pair, {}, torch.matmul, 2.0 * n**3)
        turned = random_of(4096, 4096), random_of(4096, 4096).t()
        yield Case("4096, other^T", turned, {}, torch.matmul, 2.0 * 4096**3)
    if operator == "conv2d":
        for name, (N, IC, H, OC, K, stride, padding) in LAYERS.items():
            inputs = random_of(N, IC, H, H), random_of(OC, IC, K, K), random_of(OC)
            options = {"stride": stride, "padding": padding}
            extent = (H + 2 * padding - K) // stride + 1
            flops = 2.0 * N * OC * extent**2 * IC * K * K
            yield Case(name, inputs, options, F.conv2d, flops)


def random_of(*shape: int) -> torch.Tensor:
    """Normal floats on the card."""
    return torch.randn(*shape, device="cuda")


class Clock:
    """Seconds of single calls."""

    def __init__(self) -> None:
        l2 = torch.cuda.get_device_properties(0).L2_cache_size
        self._flushed = torch.empty(FLUSHED * l2, dtype=torch.int8, device="cuda")
        self._events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]

    def alone(self, work: Work) -> float:
        """One call, from a cold cache."""
        start, stop = self._events
        torch.cuda.synchronize()
        torch.cuda._sleep(PLUG)
        self._flushed.zero_()
        start.record()
        work()
        stop.record()
        torch.cuda.synchronize()
        return 1e-3 * float(start.elapsed_time(stop))

    def medians(self, sides: Mapping[str, Work]) -> dict[str, float]:
        """Of all sides, in turns."""
        for work in sides.values():
            work()  # PyTorch tries its algorithms
        seen: dict[str, list[float]] = {name: [] for name in sides}
        end = time.monotonic() + SECONDS * len(sides)
        for n in range(MOST):
            if n >= FEWEST and time.monotonic() > end:
                break
            for name in random.sample(list(sides), len(sides)):
                seen[name].append(self.alone(sides[name]))
        return {name: statistics.median(times) for name, times in seen.items()}


def with_precision(work: Work, *, tf32: bool) -> Work:
    """PyTorch's call with or without TF32."""

    def run() -> Any:
        with precision(tf32=tf32):
            return work()

    return run


def error(output: torch.Tensor, exact: torch.Tensor) -> float:
    """Of the whole result."""
    return float((output.double() - exact).norm() / exact.norm())


def rows(case: Case, rungs: Mapping[str, Rung], clock: Clock) -> Iterator[list[Any]]:
    """[side, case, milliseconds, TFLOP/s, error, x PyTorch's f32, x its TF32]."""
    exact = case.exact
    call = lambda: case.pytorch(*case.inputs, **case.options)  # noqa: E731
    sides: dict[str, Work] = {
        "pytorch f32": with_precision(call, tf32=False),
        "pytorch tf32": with_precision(call, tf32=True),
    }
    errors = {name: error(work(), exact) for name, work in sides.items()}
    for name, rung in rungs.items():
        output = torch.full_like(exact, float("nan"), dtype=torch.float32)
        rung(case, output)
        errors[name] = error(output, exact)
        work = partial(rung, case, output)
        if clock.alone(work) < SLOW:
            sides[name] = work
    del exact
    times = clock.medians(sides)
    for name, seconds in times.items():
        ratios = [times[f"pytorch {of}"] / seconds for of in ("f32", "tf32")]
        rate = 1e-12 * case.flops / seconds
        yield [name, case.name, 1e3 * seconds, rate, errors[name], *ratios]


def built(operator: str) -> dict[str, Rung]:
    """The rungs of a ladder that have a forward."""
    links = Builds(judge=ALL_RIGHT).links
    task = next(t for t in all_tasks() if t.id == f"04_cuda_kernels/{operator}")
    made = {rung: links.build(rung, mode=GPU) for rung in task.rungs}
    return {
        rung.id.partition("/")[2]: Rung(operator, build.libraries["f32"].resolve())
        for rung, build in made.items()
        if "forward" in build.directions and "f32" in build.libraries
    }


def main(arguments: Sequence[str]) -> int:
    """Print a row for each side of each case; 1 if a result is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.proofs.card_times")
    parser.add_argument("--only", default="matmul,conv2d")
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args(arguments)
    card = gpu_probe.card()
    if card is None:
        print(f"pending: times of the goals ({gpu_probe.absent()})")
        return 0
    if not torch.cuda.is_available():
        print(f"pending: times of the goals (PyTorch does not find the {card.name})")
        return 0
    build_tools()
    gpu_probe.build_tools()
    print(card.words)
    kept, clock = [], Clock()
    for operator in chosen.only.split(","):
        rungs = built(operator)
        for case in cases(operator):
            for row in rows(case, rungs, clock):
                kept.append(row)
                name, where, ms, rate, wrong, f32, tf32 = row
                print(
                    f"{name:28s} {where:16s} {ms:8.3f} ms {rate:6.1f} TFLOP/s "
                    f"error {wrong:.0e}  x f32 {f32:.2f}  x tf32 {tf32:.2f}",
                    flush=True,
                )
            if chosen.out:  # what is known so far: the command may be stopped
                whole = {"card": card.words, "rows": kept}
                chosen.out.write_text(json.dumps(whole, indent=1))
    return int(not all(row[4] < 2e-3 for row in kept))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
