# SPDX-License-Identifier: MIT
"""Lab 05's operators in what records a program: compiled autograd, torch.jit.trace,
torch.fx, and torch.compile with sizes that are symbols.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

import pytest
import torch
from torch import Tensor
from torch._dynamo import compiled_autograd

from tests.labs.extension import CORE, LAB, Sample

pytestmark = pytest.mark.usefixtures("extension")
each_operator = pytest.mark.parametrize("sample", CORE, ids=lambda s: s.operator)


def gradients(sample: Sample, *, compiled: bool) -> Sequence[Tensor]:
    """Of all tensors of a sample; `compiled` traces the backward pass as one graph."""
    tensors = [t.requires_grad_() for t in sample.tensors()]
    loss = sample.ours()(*tensors).sin().sum()
    if compiled:
        torch._dynamo.reset()
        whole = torch.compile(backend="eager", fullgraph=True)
        with compiled_autograd._enable(whole):
            loss.backward()
    else:
        loss.backward()
    return [t.grad for t in tensors if t.grad is not None]


@each_operator
def test_compiled_autograd_takes_the_whole_backward_pass(sample: Sample):
    found = gradients(sample, compiled=True)
    torch.testing.assert_close(found, gradients(sample, compiled=False))


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_layer_norm_of_two_axes_compiles(extension: ModuleType, dynamic: bool):
    torch._dynamo.reset()
    layer, x = extension.LayerNorm((4, 3)), torch.randn(2, 4, 3)
    compiled = torch.compile(layer, fullgraph=True, dynamic=dynamic, backend="eager")
    torch.testing.assert_close(compiled(x), layer(x))
    torch.testing.assert_close(compiled(x[:1]), layer(x[:1]))


def test_jit_trace_takes_a_layer_norm_of_two_axes(extension: ModuleType):
    layer, x = extension.LayerNorm((4, 3)), torch.randn(2, 4, 3)
    torch.testing.assert_close(torch.jit.trace(layer, x)(x), layer(x))


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")
def test_jit_trace_takes_padding_same(extension: ModuleType):
    layer, x = extension.Conv2d(2, 3, (3, 2), padding="same"), torch.randn(2, 2, 5, 4)
    torch.testing.assert_close(torch.jit.trace(layer, x)(x), layer(x))


@pytest.mark.parametrize("operator", ["linear", "conv2d", "layer_norm", "gelu"])
def test_fx_makes_one_node_of_a_call(extension: ModuleType, operator: str):
    layer = {
        "linear": extension.Linear(4, 4),
        "conv2d": extension.Conv2d(2, 3, 3, padding="same"),
        "layer_norm": extension.LayerNorm((4, 4)),
        "gelu": extension.GELU(),
    }[operator]
    x = torch.randn(2, 2, 4, 4)
    traced = torch.fx.symbolic_trace(layer)
    calls = [node for node in traced.graph.nodes if node.op == "call_function"]
    assert [node.target.__name__ for node in calls] == [operator]
    torch.testing.assert_close(traced(x), layer(x))


@pytest.mark.parametrize("name", ["resnet18", "mobilenet", "unet"])
def test_fx_traces_the_networks(
    extension: ModuleType, monkeypatch: pytest.MonkeyPatch, name: str
):
    monkeypatch.syspath_prepend(str(LAB))
    from nets import NETS
    from train.layers import lab05

    network = NETS[name](lab05()).eval()
    traced = torch.fx.symbolic_trace(network)
    x = torch.randn(1, 3, 64, 64)
    with torch.no_grad():
        torch.testing.assert_close(traced(x), network(x))
