# SPDX-License-Identifier: MIT
"""What lab 05 says of a wrong argument: operator, argument, what came, what is taken.

Most calls are made with data, and then with fake tensors, as torch.compile does.
"""

from __future__ import annotations

import re
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils import _pytree as pytree

pytestmark = pytest.mark.usefixtures("extension")

ERRORS = (RuntimeError, ValueError, TypeError)  # NotImplementedError is the first
HUGE, KERNEL = 2**64, 1_879_048_192


def ones(*shape: int) -> Tensor:
    return torch.ones(shape)


IMAGE, FILTERS, DEEP = ones(2, 4, 5, 6), ones(6, 4, 3, 2), ones(4, 1, 3, 2)
SEVEN = ones(1, 1, 1, 1, 1, 2, 3)
POINTS, CUBES = torch.arange(8).int().reshape(2, 4), ones(6, 4, 3, 3, 3)
CELL = {
    "input": ones(2, 4),
    "weight": ones(9, 7),
    "bias": ones(9),
    "h": ones(2, 3),
    "c": ones(2, 3),
}
RIGHT: dict[str, tuple[Any, ...]] = {
    "add": (ones(2, 3), ones(2, 3)),
    "matmul": (ones(2, 3), ones(3, 2)),
    "linear": (ones(2, 3), ones(4, 3)),
    "unfold": (IMAGE, 2),
    "conv2d": (IMAGE, FILTERS),
    "depthwise_conv2d": (IMAGE, DEEP),
    "gelu": (ones(2, 3),),
    "layer_norm": (ones(2, 3), [3]),
    "lltm": tuple(CELL.values()),
    "subm_conv3d": (ones(2, 4), POINTS, CUBES),
}
FIRST = dict.fromkeys(RIGHT, "input") | {"subm_conv3d": "features"}
ASKED = FIRST | {"linear": "weight"}  # of which the public function asks the sizes


def without(name: str) -> tuple[Any, ...]:
    """The arguments of lltm, one of them None."""
    return tuple({**CELL, name: None}.values())


NONE = "is None, expected a tensor"
WHOLE = "expected whole numbers below 2^63"
SAID: list[tuple[str, tuple[Any, ...], dict[str, Any], str]] = [
    ("add", (1.0, IMAGE), {}, "'input' is 1.0, expected a tensor"),
    ("add", (IMAGE, "a"), {}, "'other' is 'a', expected a tensor or a number"),
    ("add", (IMAGE, 1j), {}, "'other' is 1j, expected a tensor or a number"),
    ("add", (IMAGE, IMAGE), {"alpha": "a"}, "'alpha' is 'a', expected a number"),
    ("add", (SEVEN, SEVEN), {}, "'input' has 7 axes, expected at most 6"),
    ("matmul", (IMAGE, None), {}, f"'other' {NONE}"),
    ("matmul", (SEVEN, SEVEN.mT), {}, "'input' has 7 axes, expected at most 6"),
    ("linear", (IMAGE, None), {}, f"'weight' {NONE}"),
    ("linear", (None, ones(4, 3)), {}, f"'input' {NONE}"),
    ("linear", (SEVEN, ones(4, 3)), {}, "'input' has 7 axes, expected at most 6"),
    ("conv2d", (None, FILTERS), {}, f"'input' {NONE}"),
    ("conv2d", (IMAGE, None), {}, f"'weight' {NONE}"),
    ("conv2d", (IMAGE, None), {"padding": "same"}, f"'weight' {NONE}"),
    ("conv2d", (IMAGE, FILTERS, 1.0), {}, "'bias' is 1.0, expected a tensor or None"),
    (
        "conv2d",
        (IMAGE, FILTERS[0]),
        {"padding": "same"},
        "'weight' must be (OC, IC/G, KH, KW), got (4, 3, 2)",
    ),
    ("conv2d", (IMAGE, SEVEN), {}, "'weight' has 7 axes, expected at most 6"),
    ("conv2d", (ones(4), FILTERS), {}, "'input' must be (N, IC, IH, IW), got (4"),
    (
        "conv2d",
        (IMAGE, FILTERS),
        {"padding": "sane"},
        "'padding' is 'sane', expected 'same', 'valid', one number or two",
    ),
    (
        "conv2d",
        (IMAGE, FILTERS),
        {"dilation": 1.5},
        f"'dilation' is [1.5, 1.5], {WHOLE}",
    ),
    (
        "conv2d",
        (IMAGE, FILTERS),
        {"stride": HUGE},
        f"'stride' is [{HUGE}, {HUGE}], {WHOLE}",
    ),
    (
        "conv2d",
        (IMAGE, FILTERS),
        {"stride": None},
        f"'stride' is [None, None], {WHOLE}",
    ),
    ("conv2d", (IMAGE, FILTERS), {"groups": 1.5}, "'groups' is 1.5, expected a whole"),
    ("depthwise_conv2d", (None, DEEP), {}, f"'input' {NONE}"),
    (
        "depthwise_conv2d",
        (IMAGE, DEEP),
        {"padding": "sane"},
        "'padding' is 'sane', expected 'same', 'valid', one number or two",
    ),
    ("unfold", (None, 2), {}, f"'input' {NONE}"),
    ("unfold", (IMAGE, 2.5), {}, f"'kernel_size' is [2.5, 2.5], {WHOLE}"),
    ("unfold", (IMAGE, HUGE), {}, f"'kernel_size' is [{HUGE}, {HUGE}], {WHOLE}"),
    (
        "unfold",
        (IMAGE, "same"),
        {},
        "'kernel_size' is 'same', expected one number or two",
    ),
    ("layer_norm", (IMAGE, 5), {}, "'normalized_shape' is 5, expected a list of sizes"),
    ("layer_norm", (IMAGE, [6.0]), {}, f"'normalized_shape' is [6.0], {WHOLE}"),
    ("layer_norm", (IMAGE, [HUGE]), {}, f"'normalized_shape' is [{HUGE}], {WHOLE}"),
    ("layer_norm", (None, [5, 6]), {}, f"'input' {NONE}"),
    ("layer_norm", (ones(), []), {}, "'input' must be (..., D), got ()"),
    *(("lltm", without(name), {}, f"'{name}' {NONE}") for name in CELL),
    ("gelu", (IMAGE,), {"approximate": None}, "'approximate' is None, expected a str"),
    ("gelu", (None,), {}, f"'input' {NONE}"),
    ("subm_conv3d", (ones(2, 4), None, CUBES), {}, f"'coordinates' {NONE}"),
    (
        "subm_conv3d",
        (ones(2, 4), POINTS, CUBES),
        {"dilation": 1.5},
        f"'dilation' is [1.5, 1.5, 1.5], {WHOLE}",
    ),
    *(
        (
            name,
            pytree.tree_map_only(Tensor, lambda t: t.numpy(), right),
            {},
            f"'{ASKED[name]}' is of type numpy.ndarray, expected a tensor",
        )
        for name, right in RIGHT.items()
    ),
]


def refused(call: Any, sentence: str, *, exact: bool = True) -> None:
    """The call raises this sentence, at its beginning."""
    with pytest.raises(ERRORS, match="^" * exact + re.escape(sentence)):
        call()


def fake_call(function: Any, arguments: Any, options: Any) -> Any:
    """The function's answer to tensors without data."""
    with FakeTensorMode() as mode:
        given = pytree.tree_map_only(Tensor, mode.from_tensor, arguments)
        return function(*given, **options)


@pytest.mark.parametrize(("name", "arguments", "options", "said"), SAID)
def test_a_sentence_names_the_argument(
    extension: ModuleType, name: str, arguments: Any, options: Any, said: str
):
    function = getattr(extension, name)
    refused(lambda: function(*arguments, **options), f"{name}: {said}")
    refused(lambda: fake_call(function, arguments, options), f"{name}: {said}")


@pytest.mark.parametrize(
    "dtype", [torch.complex64, torch.bool, torch.int64, torch.half]
)
@pytest.mark.parametrize("name", RIGHT)
def test_so_does_the_sentence_about_a_dtype(
    extension: ModuleType, name: str, dtype: torch.dtype
):
    arguments = [
        a.to(dtype) if isinstance(a, Tensor) and a.is_floating_point() else a
        for a in RIGHT[name]
    ]
    kind = str(dtype).removeprefix("torch.")
    said = f"{name}: '{FIRST[name]}' is {kind} on cpu, expected float32 or float64"
    function = getattr(extension, name)
    refused(lambda: function(*arguments), said)
    refused(lambda: fake_call(function, arguments, {}), said)
    with torch.inference_mode():  # no kernel on the key Autograd is called
        refused(lambda: function(*arguments), said)


@pytest.mark.parametrize(
    ("name", "arguments", "options", "said"),
    [
        ("add", (1.0, IMAGE), {}, "'input' is 1.0"),
        ("conv2d", (IMAGE, FILTERS[0]), {"padding": "same"}, "'weight' must be (OC"),
        ("conv2d", (IMAGE, FILTERS), {"dilation": 1.5}, "'dilation' is [1.5, 1.5]"),
        ("conv2d", (IMAGE, FILTERS, 1.0), {}, "'bias' is 1.0, expected a tensor or"),
        ("conv2d", (IMAGE, FILTERS.double()), {}, "'weight' is float64, 'input' is"),
        ("lltm", without("bias"), {}, f"'bias' {NONE}"),
        ("gelu", (IMAGE.bool(),), {}, "'input' is bool on cpu"),
        ("gelu", (IMAGE.bfloat16(),), {}, "'input' is bfloat16 on cpu"),
        ("gelu", (IMAGE.numpy(),), {}, "'input' is of type numpy.ndarray"),
        ("gelu", (IMAGE,), {"approximate": None}, "'approximate' is None"),
        ("layer_norm", (IMAGE, 5), {}, "'normalized_shape' is 5"),
        ("layer_norm", (IMAGE, [HUGE]), {}, f"'normalized_shape' is [{HUGE}]"),
        ("linear", (SEVEN, ones(4, 3)), {}, "'input' has 7 axes"),
        ("unfold", (IMAGE, 2), {"stride": 0}, "'stride' is [0, 0]"),
    ],
)
def test_torch_compile_hands_the_sentence_on(
    extension: ModuleType, name: str, arguments: Any, options: Any, said: str
):
    torch._dynamo.reset()  # ten graphs of one function are too many
    function = getattr(extension, name)
    function = torch.compile(function, backend="eager", fullgraph=True)
    sentence = f"{name}: {said}"
    refused(lambda: function(*arguments, **options), sentence, exact=False)


@pytest.mark.parametrize(
    ("name", "arguments", "options", "said"),
    [
        (
            "conv2d",
            (IMAGE, FILTERS),
            {"stride": 0},
            "'stride' is [0, 0], expected numbers from 1 to 1048576",
        ),
        (
            "unfold",
            (IMAGE, 0),
            {},
            "'kernel_size' is [0, 0], expected numbers from 1 to 1048576",
        ),
        ("layer_norm", (IMAGE, [6]), {"eps": 0}, "'eps' is 0, expected more than 0"),
        (
            "subm_conv3d",
            (ones(2, 4), POINTS, CUBES),
            {"dilation": 0},
            "'dilation' is [0, 0, 0], expected numbers from 1 to 1048576",
        ),
    ],
)
def test_nobody_in_python_is_asked_about_a_struct(
    extension: ModuleType, name: str, arguments: Any, options: Any, said: str
):
    with pytest.raises(RuntimeError) as error:
        getattr(extension, name)(*arguments, **options)
    assert str(error.value) == f"{name}: {said}"


@pytest.mark.parametrize("padding", [0, KERNEL])
def test_a_kernel_whose_columns_overflow(extension: ModuleType, padding: int):
    options = {"padding": padding}
    sizes = [KERNEL, KERNEL]
    said = f"unfold: 'kernel_size' is {sizes}, expected numbers from 1 to 1048576"
    refused(lambda: extension.unfold(IMAGE, KERNEL, **options), said)
    refused(lambda: fake_call(extension.unfold, (IMAGE, KERNEL), options), said)


def test_a_list_of_dtypes_for_each_device(extension: ModuleType):
    said = extension.parts()
    assert "on the CPU (float32 or float64)" in said
    assert torch.cuda.is_available() or "nothing on CUDA" in said


def test_numpy_numbers_are_numbers(extension: ModuleType):
    found = extension.add(IMAGE, np.float32(2), alpha=np.float64(3))
    assert torch.equal(found, IMAGE + 6)
    assert extension.unfold(IMAGE, np.int64(2)).shape == (2, 16, 20)
