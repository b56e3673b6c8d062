# SPDX-License-Identifier: MIT
"""Gates for programs that use the operator: compile, export, ONNX and autocast."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from grader.runner.worker.gates.bound import (
    Borrowed,
    Bound,
    Broken,
    Job,
    Named,
    Skipped,
    leaves,
)

OPSET = 18
PRODUCTS = (  # which autocast computes in its dtype; lltm adds its state in float
    "matmul",
    "linear",
    "conv2d",
    "depthwise_conv2d",
    "subm_conv3d",
)
OWN = ("conv", "linear", "addmm", "bmm", "matmul", "mm.", "im2col", "col2im")


def _doubled(bound: Bound, job: Job, names: Sequence[str]) -> Callable[..., Any]:
    """The function between products by 2, which the compiler makes code of."""
    function = bound.of(job, names)

    def around(first: torch.Tensor, *others: torch.Tensor) -> Any:
        return tuple(result * 2 for result in function(first * 2, *others))

    return around


def include(header: str) -> None:
    """Let torch.compile's C++ begin with a header that the grader has compiled."""
    from torch._inductor import codecache, config

    if hasattr(codecache, "_precompile_header"):
        codecache._precompile_header = functools.cache(lambda *_, **__: header)
        config.cpp_cache_precompile_headers = True


def compiles(bound: Bound, job: Job) -> Named:
    """torch.compile(fullgraph=True), forward."""
    torch._dynamo.reset()
    names = [name for name in bound.names if name in job["tensors"]]
    function = torch.compile(_doubled(bound, job, names), fullgraph=True)
    first, *others = (job["tensors"][name] for name in names)
    with torch.no_grad():
        return bound.named([result / 2 for result in function(first / 2, *others)])


def compiles_backward(bound: Bound, job: Job) -> Named:
    """The same with gradients."""
    torch._dynamo.reset()
    names = [name for name in bound.names if name in job["tensors"]]
    wanted = bound.wanted(job)
    halved = {**job, "tensors": {**job["tensors"]}}
    halved["tensors"][names[0]] = job["tensors"][names[0]] / 2
    given = {**halved["tensors"], **leaves(halved, wanted)}
    function = torch.compile(_doubled(bound, job, names), fullgraph=True)
    results = function(*(given[name] for name in names))
    starts = list(job["grad_outputs"].values())
    found = torch.autograd.grad(results, [given[n] for n in wanted], starts)
    scale = [4.0 if name == names[0] else 2.0 for name in wanted]
    return [(f"grad_{n}", g / s) for n, g, s in zip(wanted, found, scale)]


# ---- programs ------------------------------------------------------------------------


class Layer(torch.nn.Module):
    """The operator with its options fixed, as a network would hold it."""

    def __init__(self, bound: Bound, job: Job, names: Sequence[str]) -> None:
        super().__init__()
        self.function = bound.of(job, names)

    def forward(self, *given: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The operator."""
        return self.function(*given)


def _described(bound: Bound, job: Job) -> tuple[Layer, tuple[Any, ...], Any]:
    """A layer, its example, and which axes may have another size."""
    names = [name for name in bound.names if name in job["tensors"]]
    example = tuple(job["example"][name] for name in names)
    batch = torch.export.Dim("N", min=1, max=64)
    axes = tuple({0: batch} if name in job["dynamic"] else None for name in names)
    return Layer(bound, job, names), example, (axes,)


def exports(bound: Bound, job: Job) -> Named:
    """torch.export with a batch of any size, run with another one."""
    layer, example, axes = _described(bound, job)
    program = torch.export.export(layer, example, dynamic_shapes=axes)
    called = [str(n.target) for n in program.graph.nodes if n.op == "call_function"]
    if not any(name.startswith(f"convlab.{bound.name}.") for name in called):
        own = [n for n in called if any(word in n for word in OWN)] or called
        raise Borrowed(
            f"the exported program does not call convlab::{bound.name}. It calls "
            f"{', '.join(own[:3]) or 'nothing'}"
        )
    given = [job["tensors"][name] for name in bound.names if name in job["tensors"]]
    return bound.named(program.module()(*given))


def onnx(bound: Bound, job: Job) -> Named:
    """torch.onnx.export, then ONNX Runtime on the file it makes."""
    try:
        import onnxruntime  # type: ignore[import-untyped]
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise Skipped(
            f"the package {error.name} is not installed: pip install onnx onnxscript "
            "onnxruntime"
        ) from error
    layer, example, axes = _described(bound, job)
    table = _translations(bound)
    program = torch.onnx.export(
        layer,
        example,
        dynamo=True,
        opset_version=OPSET,
        dynamic_shapes=axes,
        custom_translation_table=table,
        verbose=False,
    )
    assert program is not None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        program.model_proto.SerializeToString(),
        options,
        providers=["CPUExecutionProvider"],
    )
    given = [job["tensors"][name] for name in bound.names if name in job["tensors"]]
    feeds = {i.name: t.numpy() for i, t in zip(session.get_inputs(), given)}
    return bound.named([torch.from_numpy(one) for one in session.run(None, feeds)])


def _translations(bound: Bound) -> dict[Any, Any]:
    """convlab_ext's own table of what an operator is in ONNX."""
    import importlib

    try:
        module = importlib.import_module("convlab_ext.onnx")
    except ModuleNotFoundError as error:
        if error.name != "convlab_ext.onnx":
            raise
        raise Broken(
            "convlab_ext has no module onnx: write it. Its function table() "
            f"translates convlab::{bound.name} to ONNX operators"
        ) from error
    return dict(module.table())


# ---- autocast ------------------------------------------------------------------------


def autocast(bound: Bound, job: Job) -> Named:
    """Under autocast, of tensors in float32 and in bfloat16: the dtypes are PyTorch's.

    Products have the dtype of autocast, others the dtype of their inputs.
    """
    names = [name for name in bound.names if name in job["tensors"]]
    results: Named = []
    for dtype in (torch.float32, torch.bfloat16):
        tensors = {name: _cast(job["tensors"][name], dtype) for name in names}
        first = tensors[names[0]].detach().requires_grad_()
        tensors[names[0]] = first
        with torch.autocast("cpu", dtype=torch.bfloat16):
            found = bound.call(tensors, job["options"])
        wanted = torch.bfloat16 if bound.name in PRODUCTS else dtype
        for output in found:
            if output.dtype is not wanted:
                raise Broken(
                    f"under autocast the result of {dtype} inputs is {output.dtype}, "
                    f"expected {wanted}: look at RESULT in convlab_ext/_autocast.py"
                )
        results += bound.named([output.detach() for output in found])
        total = torch.stack([output.sum() for output in found]).sum()
        (gradient,) = torch.autograd.grad(total, first)
        if gradient.dtype is not dtype:
            raise Broken(
                f"under autocast the gradient of a {dtype} input is {gradient.dtype}, "
                f"expected {dtype}"
            )
    return results


def _cast(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Coordinates stay integers."""
    return tensor.to(dtype) if tensor.is_floating_point() else tensor
