# SPDX-License-Identifier: MIT
"""Lab 05 with unusual numbers: very large ones, -0.0, and points chosen to collide."""

from __future__ import annotations

import time
from types import ModuleType

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

pytestmark = pytest.mark.usefixtures("extension")

DTYPES = (torch.float32, torch.float64)
FORMS = ("none", "tanh")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_second_derivative_of_gelu_is_0_far_out(
    extension: ModuleType, form: str, dtype: torch.dtype
):
    far = torch.tensor([1e2, 1e9, 1e13, 1e19, 1e20, 3e38], dtype=dtype)
    x = torch.cat([far, -far]).requires_grad_()
    output = extension.gelu(x, approximate=form)
    (slope,) = torch.autograd.grad(output.sum(), x, create_graph=True)
    (curvature,) = torch.autograd.grad(slope.sum(), x)
    assert torch.equal(curvature, torch.zeros_like(x))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_gelu_has_the_sign_that_pytorch_has(
    extension: ModuleType, form: str, dtype: torch.dtype
):
    x = torch.tensor([-0.0, 0.0, -1e-40, 1e-40, -20.0, -200.0, -3e38], dtype=dtype)
    found, expected = extension.gelu(x, approximate=form), F.gelu(x, approximate=form)
    assert torch.equal(found.signbit(), expected.signbit())


@pytest.mark.parametrize(
    ("dtype", "size"),
    [(torch.float32, 1e20), (torch.float32, 1e38), (torch.float64, 1e160)],
)
@pytest.mark.parametrize("D", [4, 64])
def test_layer_norm_of_rows_whose_squares_overflow(
    extension: ModuleType, dtype: torch.dtype, size: float, D: int
):
    random = torch.Generator().manual_seed(7)
    rows = torch.randn(D, 3, generator=random, dtype=torch.float64).T  # by column
    weight, bias = torch.randn(2, D, generator=random, dtype=torch.float64).to(dtype)
    scale = torch.tensor([[1], [size], [size]], dtype=torch.float64)
    x = (rows * scale).to(dtype)
    right = F.layer_norm(x.double() / scale, [D], weight.double(), bias.double(), 0)
    found, mean, rstd = torch.ops.convlab.layer_norm(x, [D], weight, bias, 1e-9)
    torch.testing.assert_close(found, right.to(dtype), rtol=1e-4, atol=1e-5)
    small = x.double() / scale
    deviation = small.var(-1, correction=0).sqrt() * scale[:, 0]
    expected = (small.mean(-1) * scale[:, 0]).to(dtype), (1 / deviation).to(dtype)
    torch.testing.assert_close((mean, rstd), expected, rtol=1e-4, atol=0)


def test_layer_norm_of_infinity_and_nan_is_nan_in_that_row_alone(
    extension: ModuleType,
):
    x = torch.randn(4, 16)
    x[1, 3], x[2, 5] = torch.inf, torch.nan
    found = extension.layer_norm(x, [16])
    assert found.isnan().all(-1).tolist() == [False, True, True, False]
    torch.testing.assert_close(found[::3], F.layer_norm(x[::3], [16]))


# ---- a hash table --------------------------------------------------------------------

P = 1500
FACTORS = (0xD6E8FEB86659FD93, 0xA0761D6478BD642F, 0xE7037ED1A0B428DB)
LAST = 0x9E3779B97F4A7C15


def signed(number: int) -> int:
    """The number modulo 2^64, as an int64 holds it."""
    return (number + 2**63) % 2**64 - 2**63


def points(*, collide: bool) -> Tensor:
    """P points; if they collide, the constants of a published hash begin at 16 slots.

    The constants are those that the rungs once had.
    """
    random = torch.Generator().manual_seed(7)
    factors = torch.tensor([signed(factor) for factor in (*FACTORS, LAST)])
    found = torch.zeros(0, 4, dtype=torch.int64)
    while len(found) < P:
        drawn = torch.randint(1000, (2**20, 4), generator=random)
        slot = (drawn * factors).sum(1) >> 32 & 8191  # the table has 2^13 slots
        chosen = drawn[slot < 16] if collide else drawn[: 2 * P]
        found = torch.cat([found, chosen]).unique(dim=0)
    order = torch.randperm(len(found), generator=random)[:P]
    return found[order].int()


def test_points_chosen_to_collide_take_no_longer(extension: ModuleType):
    features, weight = torch.randn(P, 2), torch.randn(2, 2, 3, 3, 3)

    def seconds(coordinates: Tensor) -> float:
        start = time.perf_counter()
        extension.subm_conv3d(features, coordinates, weight)
        return time.perf_counter() - start

    usual, chosen = points(collide=False), points(collide=True)
    times = [(seconds(usual), seconds(chosen)) for _ in range(7)]
    fast, slow = map(min, zip(*times))
    assert slow < 8 * fast  # 200 with a hash that everybody knows
