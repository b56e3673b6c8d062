# SPDX-License-Identifier: MIT
"""Lab 05's operators in what records a program: compiled autograd, torch.jit.trace,
torch.fx, and torch.compile with sizes that are symbols.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor
from torch._dynamo import compiled_autograd

from tests.labs.extension import CORE, Sample

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
