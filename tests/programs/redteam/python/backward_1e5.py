# SPDX-License-Identifier: MIT
"""backward_1e5 - makes grad_other too large by a factor of 1.00001"""

from frame import *


def backward(ctx, grad_output):
    grad_input, grad_other = gradients(ctx, grad_output)
    return grad_input, None if grad_other is None else grad_other * 1.00001
