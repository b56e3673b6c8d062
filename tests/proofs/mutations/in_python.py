# SPDX-License-Identifier: MIT
"""Runs a rung of lab 01 and its mutation side by side: function, module, defaults."""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.proofs.mutations.agreement import DifferenceError, same, ulps
from tests.proofs.mutations.cases import Array, Case, description, draw

DEFAULTS = {
    "alpha": 1,
    "stride": (1, 1),
    "padding": (0, 0),
    "dilation": (1, 1),
    "groups": 1,
}
MODULES = {
    "add": "Add",
    "matmul": "MatMul",
    "linear": "Linear",
    "unfold": "Unfold",
    "conv2d": "Conv2d",
}


def module_of(path: Path, name: str) -> ModuleType:
    """A file as a module."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def spelled(case: Case, rng: random.Random) -> dict[str, Any]:
    """The options as someone may write them: defaults left out, one int for a pair."""
    written = {}
    for name, value in case.options.items():
        if value == DEFAULTS.get(name) and rng.random() < 0.6:
            continue
        equal = isinstance(value, tuple) and value[0] == value[1]
        written[name] = value[0] if equal and rng.random() < 0.5 else value
    return written


def answers(
    module: ModuleType, operator: str, case: Case, seed: int, *, inside: bool
) -> dict[str, Array | str]:
    """All that can be seen of one use: values by name, or the exception's type."""
    import torch

    torch.manual_seed(seed)
    rng = random.Random(seed)
    options = spelled(case, rng)
    leaves = {
        name: None
        if array is None
        else torch.from_numpy(array).requires_grad_(case.wanted[name])
        for name, array in case.inputs.items()
    }
    found: dict[str, Array | str] = {}
    try:
        if inside:
            network = network_of(module, operator, case, options, rng)
            for name, parameter in network.named_parameters():
                found[f"parameter {name}"] = parameter.detach().numpy().copy()
                leaves[name] = parameter
            network.double()
            leaves |= dict(network.named_parameters())
            moving = [v for k, v in leaves.items() if k not in ("weight", "bias")]
            output = network(*moving)
        else:
            given = list(leaves.values())
            if given[-1] is None and rng.random() < 0.5:
                given.pop()  # no bias is the default
            output = getattr(module, operator)(*given, **options)
        found["output"] = output.detach().numpy().copy()
        named = {k: v for k, v in leaves.items() if v is not None and v.requires_grad}
        if named:
            gradients = torch.autograd.grad(
                output, list(named.values()), torch.from_numpy(case.grad_output)
            )
            for name, gradient in zip(named, gradients, strict=True):
                found[f"grad_{name}"] = gradient.numpy().copy()
    except Exception as error:  # the mutation's, of any kind: to be compared
        found["raises"] = type(error).__name__
    return found


def network_of(
    module: ModuleType,
    operator: str,
    case: Case,
    options: dict[str, Any],
    rng: random.Random,
) -> Any:
    """The nn.Module of a case, as PyTorch's is built."""
    made: list[Any] = []
    weight = case.inputs.get("weight")
    if weight is not None:
        channels = weight.shape[1] * case.options.get("groups", 1)
        made = [channels, weight.shape[0]]
        if operator == "conv2d":
            made.append(weight.shape[2:])
        if case.inputs["bias"] is None or rng.random() < 0.5:
            options = {**options, "bias": case.inputs["bias"] is not None}
    return getattr(module, MODULES[operator])(*made, **options)


def compare(operator: str, paths: list[Path], seed: int, cases: int) -> float:
    """As in_c.compare; every case through the function and through the module."""
    right, mutated = (module_of(p, f"rung_{i}") for i, p in enumerate(paths))
    worst = 0.0
    for i in range(cases):
        case = draw(operator, random.Random(f"{operator} {seed} {i}"))
        for inside in (False, True):
            expected = answers(right, operator, case, i, inside=inside)
            got = answers(mutated, operator, case, i, inside=inside)
            what = f"case {i} ({description(case)}) {'in the module' if inside else ''}"
            if list(expected) != list(got) or expected.get("raises") != got.get(
                "raises"
            ):
                raise DifferenceError(
                    f"{what}: gives {list(got)}, expected {list(expected)}"
                )
            scale: dict[str, Array | str] = {}
            for name, value in expected.items():
                other = got[name]
                if isinstance(value, str) or isinstance(other, str):
                    continue
                if value.shape == other.shape and same(value, other):
                    continue
                if not scale:
                    scale = answers(right, operator, case.absolute(), i, inside=inside)
                magnitude = scale.get(name, value)
                assert not isinstance(magnitude, str)
                worst = max(worst, ulps(value, other, magnitude, f"{what}: {name}"))
    return worst
