# SPDX-License-Identifier: MIT
"""Lab 05's operators under torch.compile, torch.export and in ONNX Runtime."""

from __future__ import annotations

import io
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch import Tensor
from torch.export import Dim, export

from tests.labs.extension import CORE, SAMPLES, Sample

pytestmark = pytest.mark.usefixtures("extension")
each_operator = pytest.mark.parametrize("sample", CORE, ids=lambda s: s.operator)


class Call(torch.nn.Module):
    """A call, where the first tensor comes in and the others are parameters."""

    def __init__(self, sample: Sample, dtype: torch.dtype) -> None:
        super().__init__()
        _, *others = sample.tensors(dtype)
        self.others = torch.nn.ParameterList(others)
        self.call = sample.ours()

    def forward(self, x: Tensor) -> Tensor:
        """With something around it that is not ours."""
        return torch.relu(self.call(x, *self.others))


def larger(x: Tensor) -> Tensor:
    """The same with another batch."""
    return torch.cat([x, 0.5 * x, -x])


@each_operator
def test_compile_takes_the_whole_graph_forward_and_backward(sample: Sample):
    torch._dynamo.reset()
    ours = sample.ours()
    compiled = torch.compile(ours, fullgraph=True, backend="aot_eager")
    tensors = [t.requires_grad_() for t in sample.tensors()]
    found, expected = compiled(*tensors), ours(*tensors)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(
        torch.autograd.grad(found.pow(2).sum(), tensors),
        torch.autograd.grad(expected.pow(2).sum(), tensors),
    )


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda s: s.id)
def test_compile_takes_every_form_of_the_public_functions(sample: Sample):
    torch._dynamo.reset()
    ours, tensors = sample.ours(), sample.tensors()
    compiled = torch.compile(ours, fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(*tensors), ours(*tensors))


@each_operator
def test_one_compiled_graph_serves_other_sizes(sample: Sample):
    torch._dynamo.reset()
    model = stretching(sample, torch.float64)
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager", dynamic=True)
    for x in (sample.tensors()[0], larger(sample.tensors()[0])):
        torch.testing.assert_close(compiled(x), model(x))


def test_inductor_compiles_around_an_operator(extension: ModuleType):
    from convlab_ext.modules import Conv2d

    torch._dynamo.reset()
    layer = Conv2d(2, 3, 3, padding=1)
    compiled = torch.compile(
        lambda x: torch.relu(layer(x) + 1), fullgraph=True, backend="inductor"
    )
    x = torch.randn(2, 2, 5, 4)
    torch.testing.assert_close(compiled(x), torch.relu(layer(x) + 1))


@each_operator
def test_an_exported_program_takes_another_batch(sample: Sample):
    model = stretching(sample, torch.float64)
    x = sample.tensors()[0]
    program = export(model, (x,), dynamic_shapes={"x": {0: Dim("N", min=1, max=64)}})
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    loaded = torch.export.load(file).module()
    torch.testing.assert_close(loaded(larger(x)), model(larger(x)))


def stretching(sample: Sample, dtype: torch.dtype) -> Call:
    """A call whose parameters fit any batch."""
    model = Call(sample, dtype)
    if sample.operator == "matmul":
        model.others[0] = model.others[0][:1].detach()
    if sample.operator == "lltm":  # one state for all
        for at in (2, 3):
            model.others[at] = model.others[at][:1].detach()
    return model


@each_operator
def test_onnx_runtime_computes_the_same_for_another_batch(
    sample: Sample, tmp_path: Path
):
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    from convlab_ext import onnx

    model = stretching(sample, torch.float32).eval()
    x = sample.tensors(torch.float32)[0]
    program = torch.onnx.export(
        model,
        (x,),
        dynamo=True,
        opset_version=18,
        dynamic_shapes={"x": {0: Dim("N", min=1, max=64)}},
        custom_translation_table=onnx.table(),
        verbose=False,
    )
    domains = {node.domain for node in program.model.graph}
    assert domains == {""}, "only operators that ONNX itself defines"
    file = tmp_path / "model.onnx"
    program.save(str(file))
    session = onnxruntime.InferenceSession(
        str(file), providers=["CPUExecutionProvider"]
    )
    name = session.get_inputs()[0].name
    (found,) = session.run(None, {name: larger(x).numpy()})
    torch.testing.assert_close(
        torch.from_numpy(found), model(larger(x)).detach(), rtol=1e-5, atol=1e-5
    )
