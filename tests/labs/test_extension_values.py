# SPDX-License-Identifier: MIT
"""Lab 05's operators give PyTorch's numbers, and refuse with a sentence.

The oracle is PyTorch in double precision; the bound for float is so much of the largest
expected number, wide enough for Winograd's transforms.
"""

from __future__ import annotations

import re
from types import ModuleType

import pytest
import torch
from torch import Tensor

from tests.labs.extension import LAYOUTS, SAMPLES, Sample, laid_out

BOUND = {torch.float32: 2e-5, torch.float64: 1e-13}
pytestmark = pytest.mark.usefixtures("extension")


def near(found: Tensor, expected: Tensor, dtype: torch.dtype) -> None:
    """Equal within the bound of a dtype."""
    largest = expected.abs().max().item() if expected.numel() else 0.0
    assert found.dtype == dtype
    torch.testing.assert_close(
        found.double(), expected, rtol=0, atol=BOUND[dtype] * max(largest, 1e-3)
    )


def with_gradients(
    function: object, tensors: list[Tensor], grad_output: Tensor
) -> list[Tensor]:
    """A result, and the gradients of all tensors."""
    leaves = [tensor.detach().requires_grad_() for tensor in tensors]
    output = function(*leaves)  # type: ignore[operator]
    return [output, *torch.autograd.grad(output, leaves, grad_output)]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", BOUND, ids=["float", "double"])
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda s: s.id)
def test_values_and_gradients_are_those_of_pytorch_in_double(
    sample: Sample, dtype: torch.dtype, layout: str
):
    tensors = sample.tensors(dtype)
    doubles = [tensor.double() for tensor in tensors]
    shape = sample.torchs()(*doubles).shape
    plain = torch.randn(shape, generator=torch.Generator().manual_seed(1), dtype=dtype)
    expanded = torch.ones((), dtype=dtype).expand(shape)  # what .sum() hands back
    arranged = [laid_out(tensor, layout) for tensor in tensors]
    for grad_output in (laid_out(plain, layout), expanded):
        found = with_gradients(sample.ours(), arranged, grad_output)
        oracle = with_gradients(sample.torchs(), doubles, grad_output.double())
        for ours, expected in zip(found, oracle, strict=True):
            near(ours, expected, dtype)


def test_one_gradient_alone_is_the_same_as_among_others(extension: ModuleType):
    for sample in SAMPLES:
        tensors = sample.tensors()
        grad_output = torch.ones_like(sample.torchs()(*tensors))
        together = with_gradients(sample.ours(), tensors, grad_output)[1:]
        for i, expected in enumerate(together):
            leaves = [t.requires_grad_(i == j) for j, t in enumerate(sample.tensors())]
            (alone,) = torch.autograd.grad(
                sample.ours()(*leaves), leaves[i], grad_output
            )
            torch.testing.assert_close(alone, expected)


def test_add_takes_numbers_and_promotes_dtypes(extension: ModuleType):
    x, y = torch.randn(2, 3), torch.randn(3, dtype=torch.float64)
    for other in (2, -1.5, True, y, torch.tensor(3), torch.tensor([1, 2, 3])):
        found, expected = extension.add(x, other), torch.add(x, other)
        assert found.dtype == expected.dtype
        torch.testing.assert_close(found, expected)
    counts = torch.tensor([1, 2, 3])
    torch.testing.assert_close(extension.add(counts, x), counts + x)


def test_linear_takes_a_vector_as_its_weight(extension: ModuleType):
    x, weight = torch.randn(2, 4), torch.randn(4)
    expected = torch.nn.functional.linear(x, weight)
    torch.testing.assert_close(extension.linear(x, weight), expected)


IMAGE, FILTERS = torch.zeros(2, 3, 5, 4), torch.zeros(4, 3, 3, 2)
REFUSED = [
    (
        "add",
        (torch.zeros(2, 3), torch.zeros(4)),
        {},
        "add: 'input' (2, 3) and 'other' (4) cannot be broadcast: axis 1 is 3 and 4",
    ),
    (
        "add",
        (torch.zeros(2, dtype=torch.int64), 1),
        {},
        "add: 'input' is int64 on cpu, expected float32 or float64",
    ),
    (
        "matmul",
        (torch.zeros(2, 3), torch.zeros(2, 3)),
        {},
        "'input' (2, 3) has 3 columns, 'other' (2, 3) has 2 rows",
    ),
    ("matmul", (torch.zeros(()), torch.zeros(2)), {}, "'input' must be (..., M, K)"),
    (
        "linear",
        (torch.zeros(2, 3), torch.zeros(5, 4)),
        {},
        "linear: 'weight' expects 4 features, 'input' has 3 (is it transposed?)",
    ),
    (
        "linear",
        (torch.zeros(2, 3), torch.zeros(5, 3), torch.zeros(4)),
        {},
        "linear: 'bias'",
    ),
    ("unfold", (IMAGE, 6), {}, "unfold: kernel_h 6 with dilation_h 1 spans 6"),
    (
        "unfold",
        (IMAGE, 2),
        {"dilation": (1, -3)},
        "unfold: 'dilation' is [1, -3], expected",
    ),
    ("unfold", (IMAGE, (0, 1)), {}, "unfold: 'kernel_size' is [0, 1]"),
    ("unfold", (IMAGE[0, 0], 2), {}, "unfold: 'input' must be (N, IC, IH, IW)"),
    ("conv2d", (IMAGE, FILTERS[:, :1]), {}, "expects 1 input channels, 'input' has 3"),
    ("conv2d", (IMAGE, FILTERS), {"stride": (1, 0)}, "conv2d: 'stride' is [1, 0]"),
    ("conv2d", (IMAGE, FILTERS), {"dilation": -4}, "conv2d: 'dilation' is [-4, -4]"),
    ("conv2d", (IMAGE, FILTERS), {"padding": -1}, "conv2d: 'padding' is [-1, -1]"),
    ("conv2d", (IMAGE, FILTERS), {"groups": 0}, "conv2d: 'groups' is 0, expected"),
    ("conv2d", (IMAGE, FILTERS), {"groups": 2}, "conv2d: groups is 2, which does not"),
    ("conv2d", (IMAGE, FILTERS, FILTERS[0, 0, 0]), {}, "conv2d: 'bias'"),
    (
        "conv2d",
        (IMAGE.double(), FILTERS),
        {},
        "conv2d: 'weight' is float32, 'input' is",
    ),
    (
        "conv2d",
        (IMAGE.half(), FILTERS.half()),
        {},
        "'input' is float16 on cpu, expected float32",
    ),
    ("conv2d", (IMAGE, FILTERS), {"padding": "wide"}, "'padding' is 'wide', expected"),
    ("conv2d", (IMAGE, FILTERS), {"stride": (1, 2, 3)}, "expected one number or two"),
    (
        "conv2d",
        (IMAGE, FILTERS),
        {"padding": "same", "stride": 2},
        "'stride' is [2, 2], expected 1 with padding='same'",
    ),
    ("conv2d", (IMAGE.bool(), FILTERS), {}, "'input' is bool on cpu, expected float32"),
    (
        "depthwise_conv2d",
        (IMAGE, FILTERS),
        {},
        "depthwise_conv2d: 'weight' must be (OC, 1, KH, KW)",
    ),
    (
        "depthwise_conv2d",
        (IMAGE, FILTERS[:2, :1]),
        {},
        "has 2 filters, expected a multiple of the 3 channels",
    ),
    (
        "depthwise_conv2d",
        (IMAGE, FILTERS[:3, :1]),
        {"stride": (1, 0)},
        "depthwise_conv2d: 'stride' is [1, 0]",
    ),
    (
        "depthwise_conv2d",
        (IMAGE, FILTERS[:3, :1]),
        {"padding": "same", "stride": 2},
        "'stride' is [2, 2], expected 1 with padding='same'",
    ),
    (
        "lltm",
        [torch.zeros(size) for size in ((2, 4), (9, 6), (9,), (2, 3), (2, 3))],
        {},
        "lltm: 'weight' must be (9, 7) for these arguments, got (9, 6)",
    ),
    ("gelu", (IMAGE,), {"approximate": "erf"}, "'approximate' is 'erf', expected"),
    ("gelu", (IMAGE.half(),), {}, "'input' is float16 on cpu, expected float32"),
    (
        "layer_norm",
        (torch.zeros(2, 4), [3]),
        {},
        "layer_norm: 'normalized_shape' is (3), expected the last axis of 'input', (4)",
    ),
    (
        "layer_norm",
        (torch.zeros(2, 4), [3, 4]),
        {},
        "layer_norm: 'normalized_shape' is [3, 4], expected [2, 4] or fewer axes",
    ),
    (
        "layer_norm",
        (torch.zeros(2, 4), [4], torch.zeros(5)),
        {},
        "layer_norm: 'weight' must be (4) for these arguments, got (5)",
    ),
    ("layer_norm", (torch.zeros(2, 4), [4]), {"eps": 0.0}, "layer_norm: 'eps' is 0"),
    (
        "add",
        (torch.zeros([1] * 7), 1),
        {},
        "add: 'input' has 7 axes, expected at most 6",
    ),
]


@pytest.mark.parametrize(("operator", "arguments", "options", "sentence"), REFUSED)
def test_a_wrong_call_raises_a_sentence(
    extension: ModuleType,
    operator: str,
    arguments: tuple[Tensor, ...],
    options: dict[str, object],
    sentence: str,
):
    with pytest.raises((RuntimeError, ValueError), match=re.escape(sentence)):
        getattr(extension, operator)(*arguments, **options)


def test_a_backward_operator_refuses_as_well(extension: ModuleType):
    ops = torch.ops.convlab
    with pytest.raises(RuntimeError, match="linear: 'grad_output'"):
        ops.linear_backward(
            torch.zeros(2, 4), torch.zeros(2, 3), torch.zeros(5, 3), [True] * 3
        )
    with pytest.raises(RuntimeError, match="matmul: 'grad_output'"):
        ops.matmul_backward(
            torch.zeros(2, 4), torch.zeros(2, 3), torch.zeros(3, 3), [True] * 2
        )
    with pytest.raises(RuntimeError, match="add: 'grad_output'"):
        ops.add_backward(torch.zeros(2, 4), [4], [3, 2, 4], 1.0, [True] * 2)
    with pytest.raises(RuntimeError, match="gelu: 'grad_output'"):
        ops.gelu_backward(torch.zeros(2, 4), torch.zeros(2, 3), "none")
    with pytest.raises(RuntimeError, match="layer_norm: 'mean'"):
        ops.layer_norm_backward(
            *[torch.zeros(2, 4)] * 2, None, *[torch.zeros(3)] * 2, 1e-5, [True] * 3
        )
    with pytest.raises(RuntimeError, match="unfold: 'grad_output'"):
        ops.unfold_backward(
            torch.zeros(2, 5, 4), [4, 4], [2, 2], [1, 1], [0, 0], [1, 1]
        )


def test_lists_of_a_wrong_length_and_missing_tensors_do_not_crash(
    extension: ModuleType,
):
    """PyTorch's schema language says int[2] and bool[3], and lets others through."""
    ops, x, weight = torch.ops.convlab, torch.zeros(1, 1, 4, 4), torch.zeros(1, 1, 3, 3)
    grad, two, ones = torch.zeros(1, 1, 2, 2), [0, 0], [1, 1]
    for few in ([], [1], [1, 1, 1]):
        with pytest.raises(RuntimeError, match="'stride' has"):
            ops.conv2d(x, weight, None, few, two, ones, 1)
        with pytest.raises(RuntimeError, match="'kernel_size' has"):
            ops.unfold(x, few, ones, two, ones)
    with pytest.raises(RuntimeError, match="'output_mask' has 1 flags"):
        ops.conv2d_backward(grad, x, weight, ones, two, ones, 1, [True])
    with pytest.raises(RuntimeError, match="cannot make a result of sizes"):
        ops.unfold_backward(torch.zeros(1, 9, 4), [-4, 4], [3, 3], ones, two, ones)
    with pytest.raises(RuntimeError, match="'input' is None, expected a tensor"):
        ops.conv2d(None, weight, None, ones, two, ones, 1)
    with pytest.raises(RuntimeError, match="'grad_output' is None, expected a"):
        ops.linear_backward(None, x[0, 0], x[0, 0], [True] * 3)


def test_the_package_says_what_it_has(extension: ModuleType):
    said = extension.parts()
    assert f"{', '.join(extension.OPERATORS)} on the CPU" in said
    assert "not built" not in said
