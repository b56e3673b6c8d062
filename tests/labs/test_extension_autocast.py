# SPDX-License-Identifier: MIT
"""Lab 05's operators under torch.autocast: dtypes as PyTorch's, sums in float.

PyTorch itself says which dtype is right: its function gets the same tensors. For CUDA
the tensors are fake. They have a device and a dtype, but no numbers.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from grader import operators

F32, F64, BF16, F16 = torch.float32, torch.float64, torch.bfloat16, torch.float16
POINTS = torch.tensor([[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 1]]).int()


def dense(features: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """subm_conv3d at POINTS, by conv3d."""
    n, z, y, x = POINTS.long().unbind(1)
    volume = features.new_zeros(1, 1, 2, 2, features.shape[1])
    volume = volume.index_put((n, z, y, x), features).movedim(-1, 1)
    return F.conv3d(volume, weight, bias, padding=(0, 1, 1))[n, :, z, y, x]


@dataclass(frozen=True)
class Call:
    """One operator's public function and PyTorch's, of the same tensors."""

    shapes: tuple[tuple[int, ...], ...]
    ours: Callable[..., Any]  # the package, then the tensors
    torchs: Callable[..., Any]

    def tensors(self, dtypes: Any) -> list[Tensor]:
        """Random numbers, the same in each call."""
        random = torch.Generator().manual_seed(3)
        drawn = (torch.randn(shape, generator=random) for shape in self.shapes)
        kinds = dtypes if isinstance(dtypes, tuple) else (dtypes,) * len(self.shapes)
        return [tensor.to(kind) for tensor, kind in zip(drawn, kinds)]


CALLS = {
    "add": Call(
        ((2, 3), (2, 3)),
        lambda lab, x, y: lab.add(x, y, alpha=0.7),
        lambda x, y: torch.add(x, y, alpha=0.7),
    ),
    "matmul": Call(((2, 3), (3, 4)), lambda lab, *t: lab.matmul(*t), torch.matmul),
    "linear": Call(((2, 3), (4, 3), (4,)), lambda lab, *t: lab.linear(*t), F.linear),
    "unfold": Call(
        ((1, 2, 3, 4),), lambda lab, x: lab.unfold(x, 2), lambda x: F.unfold(x, 2)
    ),
    "conv2d": Call(
        ((2, 2, 4, 4), (3, 2, 2, 3), (3,)), lambda lab, *t: lab.conv2d(*t), F.conv2d
    ),
    "depthwise_conv2d": Call(
        ((2, 2, 4, 4), (4, 1, 2, 3), (4,)),
        lambda lab, *t: lab.depthwise_conv2d(*t),
        lambda *t: F.conv2d(*t, groups=2),
    ),
    "gelu": Call(((2, 3),), lambda lab, x: lab.gelu(x), F.gelu),
    "layer_norm": Call(
        ((2, 5), (5,), (5,)),
        lambda lab, x, *t: lab.layer_norm(x, (5,), *t),
        lambda x, *t: F.layer_norm(x, (5,), *t),
    ),
    "lltm": Call(
        ((2, 3), (6, 5), (6,), (2, 2), (2, 2)),
        lambda lab, *t: lab.lltm(*t),
        operators.get("lltm").reference,
    ),
    "subm_conv3d": Call(
        ((3, 2), (4, 2, 1, 3, 3), (4,)),
        lambda lab, x, *t: lab.subm_conv3d(x, POINTS.to(x.device), *t),
        dense,
    ),
}
KINDS: dict[str, Any] = {
    "float32": F32,
    "bfloat16": BF16,
    "float16": F16,
    "float32 parameters": (BF16, F32, F32, F32, F32),
    "a state in bfloat16": (F32, F32, F32, F32, BF16),
}

each_operator = pytest.mark.parametrize("name", CALLS)
each_dtype = pytest.mark.parametrize("dtype", [BF16, F16], ids=["bf16", "f16"])


def listed(results: Any) -> list[Tensor]:
    return [results] if isinstance(results, Tensor) else list(results)


@contextmanager
def on_cuda(dtype: torch.dtype) -> Iterator[None]:
    """torch.autocast("cuda") without its question for a card."""
    before = torch.get_autocast_dtype("cuda")
    torch.set_autocast_dtype("cuda", dtype)
    torch.set_autocast_enabled("cuda", True)  # noqa: FBT003
    try:
        yield
    finally:
        torch.set_autocast_enabled("cuda", False)  # noqa: FBT003
        torch.set_autocast_dtype("cuda", before)


def dtypes_of(function: Callable[..., Any], tensors: list[Tensor]) -> list[Any]:
    return [result.dtype for result in listed(function(*tensors))]


def mixtures(refused: set[tuple[str, torch.dtype, str]]) -> Any:
    """Operator, dtype and kind of inputs, but what PyTorch refuses."""
    every = itertools.product(CALLS, (BF16, F16), KINDS)
    taken = [one for one in every if one not in refused]
    ids = [f"{name}-{dtype}-{kind}" for name, dtype, kind in taken]
    return pytest.mark.parametrize(("name", "dtype", "kind"), taken, ids=ids)


# ---- dtypes --------------------------------------------------------------------------


@mixtures({("lltm", BF16, "float16"), ("lltm", F16, "bfloat16")})
def test_a_result_has_the_dtype_of_pytorchs(
    extension: ModuleType, name: str, dtype: torch.dtype, kind: str
):
    call = CALLS[name]
    tensors = call.tensors(KINDS[kind])
    with torch.autocast("cpu", dtype):
        wanted = dtypes_of(call.torchs, tensors)
        assert [r.dtype for r in listed(call.ours(extension, *tensors))] == wanted


@mixtures(
    {
        ("subm_conv3d", BF16, "float16"),
        ("subm_conv3d", F16, "bfloat16"),
        ("subm_conv3d", F16, "float32 parameters"),
    }
)
def test_on_cuda_a_result_has_the_dtype_of_pytorchs(
    extension: ModuleType, name: str, dtype: torch.dtype, kind: str
):
    call = CALLS[name]
    with FakeTensorMode(allow_non_fake_inputs=True), on_cuda(dtype):
        tensors = [t.to("cuda") for t in call.tensors(KINDS[kind])]
        wanted = dtypes_of(call.torchs, tensors)
        assert [r.dtype for r in listed(call.ours(extension, *tensors))] == wanted


@each_dtype
@pytest.mark.parametrize("sizes", [(2, 3), ()], ids=["a tensor", "a number"])
def test_the_operator_add_promotes_as_torch_does(sizes: Any, dtype: torch.dtype):
    """Without the public function, which promotes before it calls the operator."""
    x, y = torch.ones(2, 3, dtype=dtype), torch.ones(sizes)
    with torch.autocast("cpu", dtype):
        for one, two in ((x, y), (y, x)):
            found = torch.ops.convlab.add(one, two)
            assert found.dtype == torch.add(one, two).dtype


class Seen(TorchDispatchMode):
    """Notes the dtypes that a kernel of convlab gets."""

    def __init__(self) -> None:
        """Of no call yet."""
        super().__init__()
        self.dtypes: set[torch.dtype] = set()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if func.namespace == "convlab":
            self.dtypes |= {a.dtype for a in args if isinstance(a, Tensor)}
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize(("dtype", "kernel"), [(F16, F16), (BF16, F32)])
def test_on_cuda_a_product_in_half_has_its_kernel(
    extension: ModuleType, dtype: torch.dtype, kernel: torch.dtype
):
    call = CALLS["conv2d"]
    with FakeTensorMode(), on_cuda(dtype), Seen() as seen:
        call.ours(extension, *(t.to("cuda") for t in call.tensors(F32)))
    assert seen.dtypes == {kernel}


@each_operator
def test_double_is_left_alone(extension: ModuleType, name: str):
    call = CALLS[name]
    with torch.autocast("cpu", BF16):
        found = listed(call.ours(extension, *call.tensors(F64)))
    assert {result.dtype for result in found} == {F64}


def test_every_operator_has_a_dtype_of_its_result(extension: ModuleType):
    from convlab_ext import _autocast

    assert set(_autocast.RESULT) == set(extension.OPERATORS) == set(CALLS)


# ---- numbers -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "float16"])
@each_dtype
@each_operator
def test_results_and_gradients_are_those_of_float_rounded_once(
    extension: ModuleType, name: str, dtype: torch.dtype, kind: str
):
    call = CALLS[name]
    tensors = [t.requires_grad_() for t in call.tensors(KINDS[kind])]
    exact = [t.detach().float().requires_grad_() for t in tensors]
    with torch.autocast("cpu", dtype):
        found = listed(call.ours(extension, *tensors))
    right = listed(call.ours(extension, *exact))
    for one, two in zip(found, right):
        assert torch.equal(one, two.to(one.dtype))
    grads = torch.autograd.grad(found, tensors, [torch.ones_like(r) for r in found])
    wanted = torch.autograd.grad(right, exact, [torch.ones_like(r) for r in right])
    for tensor, grad, one in zip(tensors, grads, wanted):
        assert grad.dtype == tensor.dtype
        assert torch.equal(grad, one.to(grad.dtype))


@each_dtype
@each_operator
def test_pytorchs_results_are_within_their_rounding(
    extension: ModuleType, name: str, dtype: torch.dtype
):
    call = CALLS[name]
    tensors = call.tensors(F32)
    with torch.autocast("cpu", dtype):
        found = listed(call.ours(extension, *tensors))
        right = listed(call.torchs(*tensors))
    for one, two in zip(found, right):
        coarse = torch.finfo(dtype).eps
        torch.testing.assert_close(one, two, rtol=2 * coarse, atol=8 * coarse)


# ---- where autocast begins and ends --------------------------------------------------


@each_operator
def test_a_block_without_autocast_in_one_with_it_computes_as_outside(
    extension: ModuleType, name: str
):
    call = CALLS[name]
    outside = listed(call.ours(extension, *call.tensors(F32)))
    with torch.autocast("cpu", BF16), torch.autocast("cpu", enabled=False):
        inside = listed(call.ours(extension, *call.tensors(F32)))
        with pytest.raises(RuntimeError, match="is bfloat16 on cpu, expected float32"):
            call.ours(extension, *call.tensors(BF16))
    for one, two in zip(inside, outside):
        assert torch.equal(one, two) and one.dtype == two.dtype


@pytest.mark.parametrize("refused", [False, True])
def test_a_call_leaves_autocast_as_it_was(refused: bool):
    linear, x = torch.ops.convlab.linear, torch.ones(2, 3)
    with torch.autocast("cpu", BF16):
        if refused:
            with pytest.raises(RuntimeError, match="linear"):
                linear(x, torch.ones(4, 4))
        for _ in range(2):
            assert linear(x, x).dtype == BF16
            assert torch.is_autocast_enabled("cpu")


class Beside(Seen):
    """Calls linear in another thread, while a kernel of this thread computes."""

    def __init__(self, extension: ModuleType) -> None:
        """Of this package."""
        super().__init__()
        self.linear, self.found = extension.linear, []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if func.namespace == "convlab":
            thread = threading.Thread(target=self.call)
            thread.start()
            thread.join()
        return func(*args, **(kwargs or {}))

    def call(self) -> None:
        x = torch.ones(2, 3)
        with torch.autocast("cpu", F16):
            self.found.append(self.linear(x, x).dtype)
        self.found.append(self.linear(x, x).dtype)


def test_another_thread_has_an_autocast_of_its_own(extension: ModuleType):
    x = torch.ones(2, 3)
    with torch.autocast("cpu", BF16), Beside(extension) as beside:
        assert extension.linear(x, x).dtype == BF16
    assert beside.found == [F16, F32]


# ---- programs ------------------------------------------------------------------------


@pytest.mark.parametrize("around", [False, True], ids=["inside", "around"])
@each_operator
def test_a_compiled_program_has_the_same_results_and_gradients(
    extension: ModuleType, name: str, around: bool
):
    call = CALLS[name]

    def plain(*tensors: Tensor) -> list[Tensor]:
        return [result * 2 for result in listed(call.ours(extension, *tensors))]

    def casting(*tensors: Tensor) -> list[Tensor]:
        with torch.autocast("cpu", BF16):
            return plain(*tensors)

    torch._dynamo.reset()
    program = plain if around else casting
    compiled = torch.compile(program, fullgraph=True, backend="aot_eager")
    tensors = [t.requires_grad_() for t in call.tensors(F32)]
    with torch.autocast("cpu", BF16, enabled=around):
        found, right = compiled(*tensors), program(*tensors)
    for one, two in zip(found, right):
        assert torch.equal(one, two) and one.dtype == two.dtype
    starts = [torch.ones_like(result) for result in right]
    grads = (torch.autograd.grad(some, tensors, starts) for some in (found, right))
    for one, two in zip(*grads):
        assert torch.equal(one, two)


@each_operator
def test_vmap_is_a_loop(extension: ModuleType, name: str):
    call = CALLS[name]
    tensors = call.tensors(F32)
    many = [torch.stack([t, t / 2, -t]) for t in tensors]

    def one(*tensors: Tensor) -> tuple[Tensor, ...]:
        return tuple(listed(call.ours(extension, *tensors)))

    with torch.autocast("cpu", BF16):
        found = torch.vmap(one)(*many)
        each = [one(*(t[b] for t in many)) for b in range(3)]
    for result, rows in zip(found, zip(*each)):
        torch.testing.assert_close(result, torch.stack(rows))


@each_operator
def test_torch_func_differentiates_inside_of_autocast(extension: ModuleType, name: str):
    call = CALLS[name]
    first, *others = call.tensors(F32)

    def total(x: Tensor) -> Tensor:
        results = listed(call.ours(extension, x, *others))
        return torch.stack([result.float().square().sum() for result in results]).sum()

    def all_of_it(x: Tensor) -> list[Tensor]:
        grad = torch.func.grad(total)
        tangent = torch.func.jvp(total, (x,), (torch.ones_like(x),))[1]
        return [grad(x), tangent, torch.func.hessian(total)(x)]

    exact = all_of_it(first)
    with torch.autocast("cpu", BF16):
        found = all_of_it(first)
    for one, two in zip(found, exact):
        assert one.dtype == F32
        torch.testing.assert_close(one, two, rtol=0.05, atol=0.05 * two.abs().max())


@each_operator
def test_an_exported_program_keeps_the_operator(extension: ModuleType, name: str):
    call = CALLS[name]

    class Program(torch.nn.Module):
        def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
            with torch.autocast("cpu", BF16):
                return tuple(listed(call.ours(extension, *tensors)))

    program, tensors = Program(), tuple(call.tensors(F32))
    exported = torch.export.export(program, tensors).run_decompositions()
    names = [str(node.target) for node in exported.graph.nodes]
    assert names.count(f"convlab.{name}.default") == 1
    for one, two in zip(exported.module()(*tensors), program(*tensors)):
        assert torch.equal(one, two) and one.dtype == two.dtype
