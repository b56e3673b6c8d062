# SPDX-License-Identifier: MIT
"""Each argument of each operator of lab 05, with what nobody expects there.

The answer is PyTorch's, or a refusal in a sentence of our own that names the argument
(sample_answers.py). Calls are made with numbers, with fake tensors, and for a batch
(torch.vmap).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from grader import operators
from tests.labs.extension import IN_TORCH
from tests.labs.sample_answers import WRONG, answer, wrong_sentence
from tests.labs.sample_calls import Call

pytestmark = pytest.mark.usefixtures("extension")


def ones(*shape: int) -> Tensor:
    return torch.ones(shape, requires_grad=True)


def tenths(*shape: int) -> Tensor:
    return torch.full(shape, 0.1, requires_grad=True)


IMAGE, POINTS = ones(2, 4, 5, 6), torch.arange(8).int().reshape(2, 4)
WINDOWS = {"stride": 1, "padding": 0, "dilation": 1}
RIGHT: dict[str, dict[str, Any]] = {
    "add": {"input": ones(2, 3), "other": ones(2, 3), "alpha": 1},
    "matmul": {"input": ones(2, 3), "other": ones(3, 2)},
    "linear": {"input": ones(2, 3), "weight": ones(4, 3), "bias": ones(4)},
    "unfold": {"input": IMAGE, "kernel_size": 2, **WINDOWS},
    "conv2d": {
        "input": IMAGE,
        "weight": ones(6, 4, 3, 2),
        "bias": ones(6),
        **WINDOWS,
        "groups": 1,
    },
    "depthwise_conv2d": {
        "input": IMAGE,
        "weight": ones(4, 1, 3, 2),
        "bias": ones(4),
        **WINDOWS,
    },
    "gelu": {"input": ones(2, 3), "approximate": "none"},
    "layer_norm": {
        "input": ones(2, 3),
        "normalized_shape": [3],
        "weight": ones(3),
        "bias": ones(3),
        "eps": 1e-5,
    },
    "lltm": {  # larger numbers are far out on each sigmoid
        "input": tenths(2, 4),
        "weight": tenths(9, 7),
        "bias": tenths(9),
        "h": tenths(2, 3),
        "c": tenths(2, 3),
    },
    "subm_conv3d": {
        "features": ones(2, 4),
        "coordinates": POINTS,
        "weight": ones(6, 4, 3, 3, 3),
        "bias": ones(6),
        "dilation": 1,
    },
}
DTYPES = (
    torch.half,
    torch.bfloat16,
    torch.float64,
    torch.float8_e4m3fn,
    torch.complex32,
    torch.complex64,
    torch.bool,
    torch.uint8,
    torch.int32,
    torch.int64,
)
ODD = (  # in place of an option
    *(None, "a", "same", "", b"a", 1.5, 1j, -1, 0, 2**31, 2**40, 10**400),
    *(float("nan"), float("inf"), object(), {}, [], [0, 0], [-1, 2], [2, 3], [-3]),
    *([3.0], (1.5, 1), (None, 1), ["none"], [1, 2, 3, 4], [2**64, 1]),
    *(np.array([1, 1]), torch.ones(2), torch.tensor([1, 1])),
)


class Subclass(Tensor):
    """A tensor with a name of its own."""


def odd_tensors(tensor: Tensor) -> Iterator[Any]:
    """What can stand in place of a tensor; some of it is right."""
    same = tensor.detach()
    numbers = same.float()
    yield from (None, 1.0, "a", [1.0, 2.0], [numbers, numbers], np.float32(1))
    yield same.numpy()
    yield numbers.to_sparse()
    yield numbers.to_mkldnn()
    if numbers.dim() > 1:
        yield numbers.to_sparse_csr()
        yield torch.nested.nested_tensor([numbers[0], numbers[0]])
    yield torch.quantize_per_tensor(numbers, 0.1, 0, torch.quint8)
    yield torch.nested.nested_tensor([numbers, numbers], layout=torch.jagged)
    yield from (same.to(dtype) for dtype in DTYPES)
    yield torch.complex(numbers, numbers).conj()
    yield torch.complex(numbers, -numbers).conj().imag  # with a negative bit
    yield torch._efficientzerotensor(same.shape)
    yield numbers.as_subclass(Subclass)
    yield torch.nn.Parameter(numbers)
    yield from (ones(), ones(5), ones(5, 7), ones(3, 5, 7), ones(1, 2, 3, 5, 7))
    yield numbers[..., :0]
    yield numbers[:0]
    yield numbers.reshape([1] * (7 - numbers.dim()) + list(numbers.shape))


def with_odd(name: str) -> Iterator[dict[str, Any]]:
    """The arguments of calls with one odd argument each."""
    for argument, value in RIGHT[name].items():
        odd = odd_tensors(value) if isinstance(value, Tensor) else ODD
        for one in odd:
            yield {**RIGHT[name], argument: one}


def call_of(extension: ModuleType, name: str, arguments: dict[str, Any]) -> Call:
    """For our function and PyTorch's, all arguments in their order."""
    ours = getattr(extension, name)
    if name == "subm_conv3d":
        dense = operators.get(name).reference

        def torchs(*four: Any, dilation: Any) -> Any:
            steps = [dilation] * 3 if isinstance(dilation, int) else dilation
            return dense(*four, dilation=steps)

    else:
        torchs = IN_TORCH[name]
    options = {
        key: arguments[key]
        for key in ("alpha", "approximate", "dilation")
        if key in arguments and name in ("add", "gelu", "subm_conv3d")
    }
    if name in ("unfold", "conv2d", "depthwise_conv2d"):
        options = {key: arguments[key] for key in WINDOWS}
        options |= {key: arguments[key] for key in ("groups",) if key in arguments}
    given = [value for key, value in arguments.items() if key not in options]
    return Call(name, name, ours, torchs, tuple(given), options)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", RIGHT)
def test_an_odd_argument_is_answered_as_by_pytorch_or_refused_by_its_name(
    extension: ModuleType, name: str
):
    count = 0
    for arguments in with_odd(name):
        found = answer(call_of(extension, name, arguments))
        assert found.kind != WRONG, f"{found.call}: {found.sentence}"
        count += 1
    assert count > 50


@pytest.mark.parametrize("name", RIGHT)
def test_so_is_that_of_a_batch(extension: ModuleType, name: str):
    """Unless it is the one that is batched."""
    first, *_ = RIGHT[name]
    batch = RIGHT[name][first].detach().expand(3, *RIGHT[name][first].shape)
    warnings.simplefilter("ignore")
    for arguments in with_odd(name):
        if arguments[first] is not RIGHT[name][first]:
            continue
        call = call_of(extension, name, arguments)

        def one(tensor: Tensor, call: Call = call) -> Any:
            return call.ours(tensor, *call.arguments[1:], **call.options)

        try:
            torch.vmap(one)(batch)
        except Exception as error:
            assert not wrong_sentence(call, str(error).splitlines()[0]), call


def test_coordinates_and_features_are_on_one_device(extension: ModuleType):
    features, points, *rest = RIGHT["subm_conv3d"].values()
    with pytest.raises(RuntimeError, match="'coordinates' is on meta, 'features' is"):
        extension.subm_conv3d(features, points.to("meta"), *rest)
