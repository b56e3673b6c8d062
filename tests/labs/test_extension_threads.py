# SPDX-License-Identifier: MIT
"""add, linear and unfold of lab 05 use as many threads as torch.set_num_threads says.

Their rungs use one thread: csrc/parts.h divides a large call. A result is the same for
any number of threads, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

# name -> a call of the package, and the sizes of its tensors: 65536 elements or more,
# each divided in another way
Case = tuple[Callable[..., Tensor], tuple[tuple[int, ...], ...]]
CASES: dict[str, Case] = {
    "add": (lambda p, a, b: p.add(a, b, alpha=1.5), ((301, 257), (301, 257))),
    "add_a_row": (lambda p, a, b: p.add(a, b), ((301, 257), (257,))),
    "add_a_column": (lambda p, a, b: p.add(a, b), ((1, 301, 257), (301, 1))),
    "add_turned": (lambda p, a, b: p.add(a.mT, b), ((257, 301), (301, 257))),
    "add_a_number": (lambda p, a, b: p.add(a, b), ((301, 257), ())),
    "linear": (lambda p, *t: p.linear(*t), ((257, 270), (131, 270), (131,))),
    "linear_leading": (lambda p, *t: p.linear(*t), ((1, 7, 65, 150), (131, 150))),
    "linear_one_row": (lambda p, *t: p.linear(*t), ((700,), (131, 700))),
    "linear_no_output": (lambda p, *t: p.linear(*t), ((70000, 1), (0, 1))),
    "unfold_images": (lambda p, a: p.unfold(a, 3, 1, 1, 1), ((4, 7, 23, 25),)),
    "unfold_channels": (
        lambda p, a: p.unfold(a, (3, 2), 1, 1, 2),
        ((1, 17, 50, 60),),
    ),
}


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """The number of threads that other tests have."""
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


def results(package: Any, name: str, threads: int, dtype: torch.dtype) -> list[Tensor]:
    """The output and all gradients."""
    torch.set_num_threads(threads)
    function, shapes = CASES[name]
    random = torch.Generator().manual_seed(7)
    leaves = [
        torch.randn(shape, generator=random, dtype=dtype).requires_grad_()
        for shape in shapes
    ]
    output = function(package, *leaves)
    grad = torch.randn(output.shape, generator=random, dtype=dtype)
    return [output.detach(), *torch.autograd.grad(output, leaves, grad)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", CASES)
def test_any_number_of_threads_gives_the_same_bits(
    extension: Any, name: str, dtype: torch.dtype
):
    one = results(extension, name, 1, dtype)
    for threads in (2, 3, 7):
        more = results(extension, name, threads, dtype)
        for expected, found in zip(one, more, strict=True):
            assert torch.equal(expected, found)


def worked() -> dict[str, int]:
    """Nanoseconds that each thread of this process has run."""
    found = {}
    for file in Path("/proc/self/task").glob("*/schedstat"):
        found[file.parent.name] = int(file.read_text().split()[0])
    return found


def at_work(call: Callable[[], Any]) -> int:
    """How many threads run for a tenth of the longest time or more during 20 calls."""
    call()
    before = worked()
    for _ in range(20):
        call()
    spent = [now - before.get(name, 0) for name, now in worked().items()]
    return sum(one >= max(spent) / 10 for one in spent)


@pytest.mark.skipif(
    not Path("/proc/self/schedstat").exists(), reason="needs Linux's schedstat"
)
@pytest.mark.parametrize("name", ["add", "linear", "unfold"])
def test_so_many_threads_work_as_pytorch_was_told(extension: Any, name: str):
    big = torch.randn(4, 512, 512)
    weight = torch.randn(512, 512)
    calls = {
        "add": lambda: extension.add(big, big),
        "linear": lambda: extension.linear(big, weight),
        "unfold": lambda: extension.unfold(big[None], 3),
    }
    torch.set_num_threads(1)
    assert at_work(calls[name]) == 1
    torch.set_num_threads(2)
    assert at_work(calls[name]) == 2
