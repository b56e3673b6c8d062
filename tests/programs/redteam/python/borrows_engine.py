# SPDX-License-Identifier: MIT
"""borrows_engine - asks autograd's engine itself for the gradient of its forward"""

import torch
from frame import *


def backward(ctx, grad_output):
    leaves = [
        t if t.requires_grad else t.detach().requires_grad_() for t in ctx.saved_tensors
    ]
    again = torch.is_grad_enabled()
    with torch.enable_grad():
        lhs, rhs = (t[None].squeeze(0) for t in leaves)
        output = (lhs.unsqueeze(-1) * rhs.unsqueeze(-3)).sum(-2)
    engine = torch.autograd.Variable._execution_engine
    made = engine.run_backward(
        (output,),
        (grad_output,),
        again,
        again,
        (lhs, rhs),
        allow_unreachable=True,
        accumulate_grad=False,
    )
    needed = ctx.needs_input_grad
    return tuple(g if n else None for g, n in zip(made, needed))
