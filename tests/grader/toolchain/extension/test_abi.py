# SPDX-License-Identifier: MIT
"""What lab 05's checks hold against: the white list of symbols, calls to be refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from grader import operators
from grader.errors import ProductError
from grader.operators import refused_calls
from grader.toolchain.extension import abi
from tests import put


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("torch_call_dispatcher", "which can call every operator of PyTorch"),
        ("aoti_torch_cpu_convolution", "PyTorch's own operator: call your kernel"),
        ("cblas_sgemm", "PyTorch's own operator"),
        ("dlopen", "which no operator needs"),
        ("_ZN3c104wordEv", "which is not in the stable ABI"),
        ("some_function", "neither in PyTorch's stable ABI nor in the C and C++"),
    ],
)
def test_the_white_list_names_what_is_not_on_it(monkeypatch, name, words):
    allowed = {"aoti_torch_empty_strided", "memcpy", "GOMP_parallel", "_ZSt7nothrow"}
    monkeypatch.setattr(abi, "symbols", lambda _: (set(), {*allowed, name}))
    assert words in abi.judge(Path("x.so"))
    monkeypatch.setattr(abi, "symbols", lambda _: (set(), allowed))
    assert abi.judge(Path("x.so")) == ""


OF_THE_SYSTEM = {"memcpy", "exp", "_Znwm", "__cxa_throw", "_Unwind_Resume"}


@pytest.fixture
def cpp_knows_no_library(monkeypatch, tmp_path):
    """A compiler in a prefix of its own, which says a library's name for its path."""
    compiler = put(tmp_path / "opt" / "c++", '#!/bin/sh\necho "${1#*=}"\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    abi._linked.cache_clear()
    yield compiler
    abi._linked.cache_clear()


@pytest.mark.usefixtures("cpp_knows_no_library")
def test_a_c_library_that_only_the_loader_finds_is_one(monkeypatch):
    monkeypatch.setattr(abi, "symbols", lambda _: (set(), OF_THE_SYSTEM))
    assert abi.judge(Path("x.so")) == ""
    monkeypatch.setattr(abi, "symbols", lambda _: (set(), {"memcpy", "some_function"}))
    assert "needs 'some_function'" in abi.judge(Path("x.so"))


def test_a_library_that_is_not_found_is_named_and_no_fault_of_the_file(
    monkeypatch, cpp_knows_no_library
):
    monkeypatch.setattr(abi, "SYSTEM", ("libnowhere.so.6",))
    monkeypatch.setattr(abi, "EARLIER", ())
    monkeypatch.setattr(abi, "symbols", lambda _: (set(), {"memcpy"}))
    with pytest.raises(ProductError) as said:
        abi.judge(Path("x.so"))
    for word in ("'memcpy'", "libnowhere.so.6", str(cpp_knows_no_library)):
        assert word in str(said.value)


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
