# SPDX-License-Identifier: MIT
"""What lab 05's checks hold against: the white list of symbols, calls to be refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from grader import operators
from grader.operators import refused_calls
from grader.toolchain.extension import abi


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("torch_call_dispatcher", "the way to every operator of PyTorch"),
        ("aoti_torch_cpu_convolution", "PyTorch's own operator: call the rung"),
        ("cblas_sgemm", "PyTorch's own operator"),
        ("dlopen", "which no operator needs"),
        ("_ZN3c104wordEv", "which is not of the stable ABI"),
        ("some_function", "neither of PyTorch's stable ABI nor of the C and C++"),
    ],
)
def test_the_white_list_names_what_is_not_on_it(monkeypatch, name, words):
    allowed = {"aoti_torch_empty_strided", "memcpy", "GOMP_parallel", "_ZSt7nothrow"}
    monkeypatch.setattr(abi, "symbols", lambda _: (set(), {*allowed, name}))
    assert words in abi.judge(Path("x.so"))
    monkeypatch.setattr(abi, "symbols", lambda _: (set(), allowed))
    assert abi.judge(Path("x.so")) == ""


# PyTorch has no such operator: of its parts each refuses only what it cannot compute
COMPOSED = ("lltm", "subm_conv3d")


@pytest.mark.parametrize("name", sorted(refused_calls.GOOD))
def test_pytorch_refuses_what_has_to_be_refused_and_takes_the_rest(name):
    operator = operators.get(name)

    def call(shapes, options, dtypes):
        names = [argument.name for argument in operator.signature.inputs]
        given = [
            torch.ones(shapes[n], dtype=dtypes.get(n, torch.float32)) for n in names
        ]
        return operator.reference(*given, **operator.signature.resolve(options))

    call(*refused_calls.GOOD[name], {})
    if name in COMPOSED:
        return
    for one in refused_calls.refused(name):
        with pytest.raises((RuntimeError, IndexError)):
            call(one.shapes, one.options, one.dtypes)
            pytest.fail(f"{name} takes {one.what}")
