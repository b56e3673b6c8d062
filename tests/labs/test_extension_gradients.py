# SPDX-License-Identifier: MIT
"""Lab 05's operators differentiate: once, twice, forwards, and under torch.func."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.autograd import forward_ad, gradcheck, gradgradcheck
from torch.func import grad, hessian, jacfwd, jacrev, jvp, vmap

from tests.labs.extension import CORE, Sample, with_tensors

pytestmark = pytest.mark.usefixtures("extension")
ONE_GRADIENT = ("unfold", "gelu")  # and no mask
each_operator = pytest.mark.parametrize("sample", CORE, ids=lambda s: s.operator)


def leaves(sample: Sample) -> list[Tensor]:
    """Its tensors, all with a gradient."""
    return [tensor.requires_grad_() for tensor in sample.tensors()]


def scalar(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A number whose second derivatives are not zero."""
    return lambda *tensors: function(*tensors).pow(3).sum()


def same(found: Any, expected: Any) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)


BACKWARD_AND_FORWARD = {"check_forward_ad": True, "check_batched_forward_grad": True}
OVER_BACKWARD = {"check_fwd_over_rev": True, "gen_non_contig_grad_outputs": True}


@each_operator
@pytest.mark.parametrize(
    ("check", "options"),
    [(gradcheck, BACKWARD_AND_FORWARD), (gradgradcheck, OVER_BACKWARD)],
    ids=["gradcheck", "gradgradcheck"],
)
def test_gradients_are_right_backward_forward_and_batched(
    sample: Sample, check: Callable[..., bool], options: dict[str, bool]
):
    assert check(sample.ours(), leaves(sample), check_batched_grad=True, **options)


@each_operator
def test_the_backward_operator_passes_gradcheck_for_every_mask(sample: Sample):
    operator, arguments = sample.operators()[1]
    tensors = [a.requires_grad_() for a in arguments if isinstance(a, Tensor)]
    *options, mask = arguments[len(tensors) :]
    if sample.operator in ONE_GRADIENT:
        options, masks = [*options, mask], [None]
    else:
        masks = [[j != i for j in range(len(mask))] for i in range(len(mask))]
        masks.append([True] * len(mask))
    for chosen in masks:
        rest = options if chosen is None else [*options, chosen]

        def wanted(*tensors: Tensor, rest=rest, chosen=chosen) -> Any:
            found = operator(*tensors, *rest)
            if chosen is None:
                return found
            return tuple(g for g, want in zip(found, chosen) if want)

        assert gradcheck(wanted, tensors, check_forward_ad=True)


@pytest.mark.parametrize("sample", [s for s in CORE if s.operator not in ONE_GRADIENT])
def test_a_gradient_that_is_not_wanted_is_not_computed(sample: Sample):
    """Its place in the backward operator's answer is an empty tensor."""
    operator, (*others, mask) = sample.operators()[1]
    for i in range(len(mask)):
        found = operator(*others, [i == j for j in range(len(mask))])
        assert [g.numel() > 0 for g in found] == [i == j for j in range(len(mask))]


@each_operator
def test_every_derivative_of_torch_func_is_pytorchs(sample: Sample):
    ours, torchs = scalar(sample.ours()), scalar(sample.torchs())
    tensors = sample.tensors()
    numbers = tuple(range(len(tensors)))
    same(grad(ours, numbers)(*tensors), grad(torchs, numbers)(*tensors))
    same(
        jacrev(sample.ours(), numbers)(*tensors),
        jacrev(sample.torchs(), numbers)(*tensors),
    )
    same(
        jacfwd(sample.ours(), numbers)(*tensors),
        jacfwd(sample.torchs(), numbers)(*tensors),
    )
    same(hessian(ours, numbers)(*tensors), hessian(torchs, numbers)(*tensors))
    same(
        jacrev(jacrev(ours))(*tensors),
        jacrev(jacrev(torchs))(*tensors),
    )
    same(
        jacfwd(jacfwd(ours))(*tensors),
        jacfwd(jacfwd(torchs))(*tensors),
    )


@each_operator
def test_forward_mode_is_never_silently_zero(sample: Sample):
    """Neither through the public function nor through the operator itself."""
    tensors = sample.tensors()
    tangents = [torch.randn_like(tensor) for tensor in tensors]
    _, expected = jvp(sample.torchs(), tuple(tensors), tuple(tangents))
    _, found = jvp(sample.ours(), tuple(tensors), tuple(tangents))
    same(found, expected)
    operator, arguments = sample.operators()[0]
    with forward_ad.dual_level():
        duals = [forward_ad.make_dual(t, d) for t, d in zip(tensors, tangents)]
        output = operator(*with_tensors(arguments, duals))
        if sample.operator == "lltm":  # without the gates
            output = torch.cat(output[:2], 1)
        elif not isinstance(output, Tensor):
            output = output[0]
        same(forward_ad.unpack_dual(output).tangent, expected)


@each_operator
def test_per_example_gradients_are_those_of_one_example_after_the_other(
    sample: Sample,
):
    ours = scalar(sample.ours())
    first, *others = sample.tensors()
    examples = torch.stack([first, 2 * first, -first])
    numbers = tuple(range(len(others) + 1))
    in_dims = (0, *[None] * len(others))
    together = vmap(grad(ours, numbers), in_dims)(examples, *others)
    one_by_one = [grad(ours, numbers)(example, *others) for example in examples]
    for found, *expected in zip(together, *one_by_one, strict=True):
        same(found, torch.stack(expected))


@each_operator
def test_a_network_of_several_parameter_sets_at_once(sample: Sample):
    """vmap over grad with everything batched, as for an ensemble."""
    ours, torchs = scalar(sample.ours()), scalar(sample.torchs())
    many = [torch.stack([t, t.flip(0), 0.5 * t]) for t in sample.tensors()]
    numbers = tuple(range(len(many)))
    same(vmap(grad(ours, numbers))(*many), vmap(grad(torchs, numbers))(*many))


def test_create_graph_off_leaves_no_graph(extension: ModuleType):
    x = torch.randn(2, 3, requires_grad=True)
    weight = torch.randn(4, 3, requires_grad=True)
    extension.linear(x, weight).sum().backward()
    assert x.grad is not None and not x.grad.requires_grad


def test_no_grad_and_inference_mode_record_nothing(extension: ModuleType):
    x = torch.randn(2, 3, requires_grad=True)
    weight = torch.randn(4, 3, requires_grad=True)
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            output = extension.linear(x, weight)
        assert output.grad_fn is None and not output.requires_grad


@pytest.mark.parametrize(
    ("frozen", "kept"),
    [
        ((), 192),
        (("weight",), 64),
        (("input",), 128),
        (("input", "weight"), 0),
    ],
)
def test_linear_keeps_what_its_gradients_need(
    extension: ModuleType, frozen: tuple[str, ...], kept: int
):
    """In KiB, as PyTorch's linear keeps them."""
    input = torch.randn(256, 128, requires_grad="input" not in frozen)
    weight = torch.randn(128, 128, requires_grad="weight" not in frozen)
    bias = torch.randn(128, requires_grad=True)
    for linear in (extension.linear, torch.nn.functional.linear):
        sizes = {}

        def pack(tensor: torch.Tensor, sizes: Any = sizes) -> torch.Tensor:
            memory = tensor.untyped_storage()
            sizes[memory.data_ptr()] = memory.nbytes()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            linear(input, weight, bias)
        assert sum(sizes.values()) == kept * 1024
