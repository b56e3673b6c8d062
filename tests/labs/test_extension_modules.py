# SPDX-License-Identifier: MIT
"""Lab 05's modules take the place of torch.nn's."""

from __future__ import annotations

import copy
import pickle
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

from tests import output_of
from tests.labs.extension import FOLDER

CASES: list[tuple[str, tuple[Any, ...], dict[str, Any], tuple[int, ...]]] = [
    ("Conv2d", (3, 4, 3), {}, (2, 3, 6, 5)),
    ("Conv2d", (4, 6, (3, 2)), {"stride": (2, 1), "padding": (1, 2)}, (2, 4, 6, 5)),
    ("Conv2d", (4, 6, 3), {"groups": 2, "dilation": 2, "bias": False}, (2, 4, 7, 6)),
    ("Conv2d", (3, 4, 3), {"padding": "same"}, (3, 6, 5)),
    ("Conv2d", (3, 4, 3), {"padding": 1, "padding_mode": "circular"}, (2, 3, 6, 5)),
    ("Conv2d", (3, 4, 4), {"padding": "same", "padding_mode": "reflect"}, (2, 3, 6, 5)),
    ("DepthwiseConv2d", (3, 3), {}, (2, 3, 6, 5)),
    ("DepthwiseConv2d", (3, (3, 2)), {"multiplier": 2, "stride": 2}, (2, 3, 6, 5)),
    ("DepthwiseConv2d", (3, 4), {"padding": "same", "bias": False}, (3, 6, 5)),
    (
        "DepthwiseConv2d",
        (3, 3, 1, 1),
        {"padding_mode": "circular", "dtype": torch.float64},
        (2, 3, 6, 5),
    ),
    ("Linear", (3, 4), {}, (2, 5, 3)),
    ("LayerNorm", (4,), {}, (2, 3, 4)),
    ("LayerNorm", ([3, 4], 0.1), {"bias": False}, (2, 3, 4)),
    ("LayerNorm", ((5,),), {"elementwise_affine": False}, (5,)),
    ("LayerNorm", (4,), {"dtype": torch.float64}, (0, 4)),
    ("Linear", (3, 4), {"bias": False}, (3,)),
    ("Linear", (3, 4), {"dtype": torch.float64}, (2, 3)),
]
each_case = pytest.mark.parametrize(("name", "arguments", "options", "shape"), CASES)


@pytest.fixture
def modules(extension: ModuleType) -> ModuleType:
    from convlab_ext import modules

    return modules


def pair(modules: ModuleType, name: str, *arguments: Any, **options: Any) -> Any:
    """Our module and torch.nn's, made under the same seed."""
    made = []
    for where in (modules, torch.nn):
        torch.manual_seed(3)
        kind = getattr(where, name, depthwise)  # torch.nn has no name for it
        made.append(kind(*arguments, **options))
    return made


def depthwise(
    channels: int, kernel_size: Any, *more: Any, multiplier: int = 1, **options: Any
) -> torch.nn.Conv2d:
    """torch.nn's own depthwise layer: as many groups as channels."""
    OC = channels * multiplier
    options["groups"] = channels
    return torch.nn.Conv2d(channels, OC, kernel_size, *more, **options)


@each_case
def test_under_one_seed_both_start_and_compute_the_same(
    modules: ModuleType,
    name: str,
    arguments: tuple[Any, ...],
    options: dict[str, Any],
    shape: tuple[int, ...],
):
    ours, torchs = pair(modules, name, *arguments, **options)
    assert list(ours.state_dict()) == list(torchs.state_dict())
    for key, value in torchs.state_dict().items():
        assert torch.equal(ours.state_dict()[key], value), key
    assert repr(ours).split("(", 1)[1] == repr(torchs).split("(", 1)[1]
    x = torch.randn(shape, dtype=options.get("dtype", torch.float32))
    torch.testing.assert_close(ours(x), torchs(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("form", ["none", "tanh"])
def test_gelu_takes_the_place_of_torchs(modules: ModuleType, form: str):
    ours, torchs = modules.GELU(form), torch.nn.GELU(form)
    assert repr(ours) == repr(torchs)
    assert not ours.state_dict()
    x = torch.randn(3, 5)
    torch.testing.assert_close(ours(x), torchs(x))


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("Conv2d", (2, 3, 3)),
        ("DepthwiseConv2d", (2, 3)),
        ("Linear", (3, 4)),
        ("LayerNorm", (4,)),
        ("SubmConv3d", (2, 3, 3)),
        ("LLTM", (3, 4)),
    ],
)
def test_each_module_with_parameters_takes_a_device_and_a_dtype(
    modules: ModuleType, name: str, arguments: tuple[Any, ...]
):
    layer = getattr(modules, name)(*arguments, device="meta", dtype=torch.float64)
    for parameter in layer.parameters():
        assert parameter.is_meta
        assert parameter.dtype == torch.float64
    usual = getattr(modules, name)(*arguments)
    shapes = [tuple(one.shape) for one in usual.parameters()]
    assert [tuple(one.shape) for one in layer.parameters()] == shapes
    assert {(one.device.type, one.dtype) for one in usual.parameters()} == {
        ("cpu", torch.float32)
    }


def test_an_lltm_in_double_computes_in_double(modules: ModuleType):
    cell = modules.LLTM(3, 4, dtype=torch.float64)
    state = torch.randn(2, 2, 4, dtype=torch.float64).unbind()
    h, c = cell(torch.randn(2, 3, dtype=torch.float64), *state)
    assert h.dtype == c.dtype == torch.float64


def test_a_state_dict_changes_sides(modules: ModuleType):
    ours, torchs = modules.Conv2d(2, 3, 3), torch.nn.Conv2d(2, 3, 3)
    x = torch.randn(2, 2, 5, 4)
    ours.load_state_dict(torchs.state_dict())
    torch.testing.assert_close(ours(x), torchs(x))


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))]
)
def test_a_copy_computes_the_same_and_lives_on_its_own(
    modules: ModuleType, copied: Any
):
    network = torch.nn.Sequential(
        modules.Conv2d(2, 3, 3), torch.nn.Flatten(), modules.Linear(18, 4)
    )
    x = torch.randn(2, 2, 5, 4)
    before = network(x)
    other = copied(network)
    with torch.no_grad():
        network[0].weight.zero_()
    assert type(other[0]) is modules.Conv2d
    torch.testing.assert_close(other(x), before)


def test_functional_call_and_stacked_parameters(modules: ModuleType):
    layer, x = modules.Linear(3, 4), torch.randn(5, 3)
    twice = {name: 2 * value for name, value in layer.named_parameters()}
    found = torch.func.functional_call(layer, twice, (x,))
    torch.testing.assert_close(found, 2 * layer(x))
    layers = [modules.Conv2d(2, 3, 3) for _ in range(3)]
    parameters, buffers = torch.func.stack_module_state(layers)
    x = torch.randn(2, 2, 5, 4)

    def call(parameters: Any, buffers: Any) -> Tensor:
        return torch.func.functional_call(layers[0], (parameters, buffers), (x,))

    found = torch.vmap(call)(parameters, buffers)
    expected = torch.stack([layer(x) for layer in layers])
    torch.testing.assert_close(found, expected)


def test_a_module_trains_as_torchs_does(modules: ModuleType):
    """Ten steps of gradient descent from the same start."""
    losses = []
    for where in (modules, torch.nn):
        torch.manual_seed(5)
        network = torch.nn.Sequential(
            where.Conv2d(1, 3, 3, padding=1, dtype=torch.float64),
            torch.nn.Tanh(),
            torch.nn.Flatten(),
            where.Linear(3 * 6 * 5, 2, dtype=torch.float64),
        )
        x = torch.randn(4, 1, 6, 5, dtype=torch.float64)
        target = torch.randint(2, (4,))
        optimizer = torch.optim.SGD(network.parameters(), lr=0.5)
        for _ in range(10):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(network(x), target)
            loss.backward()
            optimizer.step()
        losses.append(loss.item())
    assert losses[0] == pytest.approx(losses[1], rel=1e-10)
    assert losses[0] < 0.1, "it learns"


# ---- what is not built ---------------------------------------------------------------

ABSENT = """
import convlab_ext
from convlab_ext import Conv2d, modules


def said(call):
    try:
        call()
    except ImportError as error:
        return str(error)


def by_name():
    from convlab_ext import linear


def by_class():
    from convlab_ext import Linear


layer = modules.Linear(3, 4)
calls = by_name, by_class, lambda: convlab_ext.linear, lambda: layer(torch.ones(2, 3))
words = "convlab_ext.linear is not built: make build LAB=05"
import torch

assert all(words in (said(call) or "") for call in calls), [said(c) for c in calls]
assert Conv2d(1, 1, 1)(torch.ones(1, 1, 1, 1)).shape == (1, 1, 1, 1)
try:
    convlab_ext.nothing
except AttributeError as error:
    assert "no attribute 'nothing'" in str(error)
"""


def test_an_operator_that_is_not_built_says_so_by_every_way_in(
    extension: ModuleType, tmp_path: Path
):
    package = tmp_path / "convlab_ext"
    package.mkdir()
    for file in (FOLDER / "convlab_ext").iterdir():
        if file.is_file() and file.name != "_linear.abi3.so":
            shutil.copyfile(file, package / file.name)
    output_of([sys.executable, "-c", ABSENT], cwd=tmp_path, seconds=120)
