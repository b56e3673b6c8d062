# SPDX-License-Identifier: MIT
"""Lab 05's steps (a), pybind11, and (b), the classic headers: what they do and lack.

add is built ahead of time by both, matmul just in time: the headers take most of a
minute, and the other operators differ in nothing that a build would show.
"""

from __future__ import annotations

import re
import sys
from types import ModuleType

import pytest
import torch
from torch._subclasses import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from grader.course.rungs import ROOT
from tests import output_of
from tests.labs import extension
from tests.labs.extension_build import alone, build, environment

CSRC = extension.LAB / "csrc"
OF_STEP_B = ("add", "conv2d")


@pytest.fixture(scope="module")
def package(tools) -> ModuleType:
    """convlab_ext, to which add of steps (a) and (b) has been added."""
    built = extension.package()
    build(extension.FOLDER, STEPS="aten,pybind", OPERATORS="add", CUDA="0")
    return built


class Seen(TorchDispatchMode):
    """The names of the operators that are called."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


# ---- step (b) ------------------------------------------------------------------------


def rewritten(operator: str) -> str:
    """The file of step (c) with the five differences to step (b) made."""
    text = (CSRC / "stable" / f"{operator}.cpp").read_text()
    text = text.replace("STABLE_TORCH_LIBRARY", "TORCH_LIBRARY")
    text = re.sub(r"_(FRAGMENT|IMPL)\(convlab,", r"_\1(convlab_aten,", text)
    text = re.sub(r"TORCH_BOX\((&\w+)\)", r"\1", text)
    of = re.search(r"bool\[(\d)\]", text)
    array = f"std::array<bool, {of[1]}>" if of else ""
    text = text.replace("const std::vector<bool> &output_mask", f"{array} output_mask")
    text = text.replace("const std::vector<bool> &", array)
    heading = f"torch.ops.convlab.{operator} and {operator}_backward"
    return text.replace(heading, f"torch.ops.convlab_aten.{operator}, ..._backward")


@pytest.mark.parametrize("operator", OF_STEP_B)
def test_the_files_of_steps_b_and_c_differ_in_five_places_only(operator):
    """The macro, the namespace, the box, the type of a mask, the title."""
    theirs = (CSRC / "aten" / f"{operator}.cpp").read_text()
    assert theirs.split() == rewritten(operator).split()


def test_an_operator_of_step_b_is_right_and_differentiates_by_its_own_backward(package):
    from convlab_ext import aten

    x = torch.randn(4, 1, 5, dtype=torch.float64, requires_grad=True)
    y = torch.randn(3, 1, dtype=torch.float64, requires_grad=True)

    def add(x, y):
        return aten.add(x, y, 0.5)

    output = add(x, y)
    torch.testing.assert_close(output, torch.add(x, y, alpha=0.5))
    with Seen() as seen:
        torch.autograd.grad(output.sum(), (x, y))
    assert "convlab_aten.add_backward.default" in seen.names
    assert not [name for name in seen.names if name.startswith("convlab.")]
    torch.autograd.gradcheck(add, (x, y), check_forward_ad=True)
    torch.autograd.gradgradcheck(add, (x, y))
    arguments = x.detach(), y.detach(), 0.5
    torch.library.opcheck(torch.ops.convlab_aten.add.default, arguments)


def test_what_step_b_has_not_built_is_told(package, monkeypatch, tmp_path):
    from convlab_ext import aten

    monkeypatch.setattr(aten, "HERE", tmp_path)
    with pytest.raises(AttributeError, match=r"aten.conv2d is not built: .*STEPS=aten"):
        aten.conv2d  # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute 'unfold'"):
        aten.unfold  # noqa: B018


def test_a_library_of_step_b_for_another_pytorch_is_told(package, monkeypatch):
    from convlab_ext import aten

    def refuse(path):
        raise OSError("undefined symbol: _ZN3c10")

    monkeypatch.setattr(torch.ops, "load_library", refuse)
    monkeypatch.setattr(aten, "_loaded", set())
    sentence = rf"_add_aten.so does not fit torch {re.escape(torch.__version__)}"
    with pytest.raises(AttributeError, match=sentence):
        aten.load("add")


# ---- step (a) ------------------------------------------------------------------------


@pytest.fixture
def bound(package) -> ModuleType:
    """add of step (a)."""
    from convlab_ext import pybind

    return pybind.ahead("add")


def test_a_function_of_pybind11_is_right_and_refuses_in_words(bound):
    from convlab_ext import pybind

    pybind.check(bound, "add")
    with pytest.raises(RuntimeError, match="'other' is f64, 'input' is f32"):
        bound.forward(torch.ones(2), torch.ones(2, dtype=torch.float64))


def test_autograd_does_not_see_it_and_says_nothing(bound):
    leaf = torch.ones(2, requires_grad=True)
    assert torch.add(leaf, leaf).requires_grad
    assert not bound.forward(leaf, leaf).requires_grad


def test_the_dispatcher_does_not_see_it(bound):
    x = torch.ones(2)
    with Seen() as seen:
        bound.forward(x, x)
        torch.add(x, x)
    assert "aten.add.Tensor" in seen.names
    assert not [name for name in seen.names if "convlab" in name]


def test_it_knows_no_tensor_without_data_and_no_batch(bound):
    with FakeTensorMode(), pytest.raises(Exception, match="data"):
        bound.forward(torch.ones(2), torch.ones(2))
    with pytest.raises(Exception):  # noqa: B017
        torch.vmap(bound.forward)(torch.ones(3, 2), torch.ones(3, 2))


def test_torch_compile_cannot_look_past_it(bound):
    def twice(x):
        return bound.forward(x, x) * 2

    compiled = torch.compile(twice, fullgraph=True, backend="eager")
    with pytest.raises(Exception, match=r"forward|pybind"):
        compiled(torch.ones(2))


def test_what_step_a_has_not_built_is_told(package, monkeypatch):
    from convlab_ext import pybind

    monkeypatch.setitem(sys.modules, "convlab_ext._matmul_pybind", None)
    with pytest.raises(ImportError, match=r"matmul of step .a. is not built: .*STEPS="):
        pybind.ahead("matmul")
    with pytest.raises(ImportError, match="just in time needs the sources"):
        pybind.now("matmul")  # this package is a copy without csrc


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["pybind", "matmul"], "matmul: convlab_matmul_now.so agrees with PyTorch"),
        (["just_in_time", "lltm"], "convlab_ext has lltm"),  # or more: what is built
    ],
)
def test_a_function_or_an_operator_is_compiled_when_it_is_asked_for(words, said):
    module, operator = words
    with alone():
        command = [sys.executable, "-m", f"convlab_ext.{module}", operator]
        variables = environment() | {"PYTHONPATH": str(extension.LAB)}
        assert said in output_of(command, cwd=ROOT, env=variables, seconds=600)
