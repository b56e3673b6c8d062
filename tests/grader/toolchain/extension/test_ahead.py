# SPDX-License-Identifier: MIT
"""The rungs of lab 05's kernels are compiled several at once, and each has a line."""

from __future__ import annotations

import threading

import pytest

from grader.toolchain.extension import ahead, kernels
from grader.toolchain.products import Build


@pytest.fixture
def said(monkeypatch) -> list[str]:
    """What compiling says; nothing is compiled, and the second rung fails."""
    monkeypatch.delenv(kernels.MADE, raising=False)

    def build(rung, *, mode):
        assert mode == "release"
        failed = rung.shown.endswith("01_vectors.c")
        return Build({}, error="expected ';'" if failed else "")

    monkeypatch.setattr(ahead, "compiled", build)
    return []


def test_what_a_rung_uses_is_compiled_with_it_once():
    found = [rung.id for rung in ahead.rungs_of(["conv2d", "linear"], "cpu")]
    assert len(found) == len(set(found))
    assert "03_im2col_cpu/conv2d/19_threads" in found
    assert "03_im2col_cpu/matmul/05_packed" in found  # of both
    assert "03_im2col_cpu/depthwise_conv2d/07_channel_lanes" in found
    assert not [name for name in found if "gelu" in name]


def test_a_rung_that_no_kernel_needs_is_not_compiled():
    names = ["linear", "add"]
    assert sorted(rung.id for rung in ahead.rungs_of(names, "cpu")) == [
        "03_im2col_cpu/add/01_vectors",  # for what 02_streamed leaves
        "03_im2col_cpu/add/02_streamed",
        "03_im2col_cpu/linear/00_matmul",  # for backward
        "03_im2col_cpu/linear/01_fused_bias",
        "03_im2col_cpu/matmul/05_packed",
    ]


def test_a_device_has_its_own_rungs():
    only = [rung.id for rung in ahead.rungs_of(["add"], "cuda")]
    assert only and all(name.startswith("04_cuda_kernels/add/") for name in only)


def test_each_rung_has_a_line_also_one_that_does_not_compile(said):
    ahead.compile(["add"], ["cpu"], said.append)
    counts = [line.split()[0] for line in said]
    assert counts == ["[1/2]", "[2/2]"]
    (failed,) = [line for line in said if "not compiled" in line]
    assert failed.endswith("not compiled labs/03_im2col_cpu/add/01_vectors.c")


def test_where_the_objects_are_there_nothing_is_compiled(said, monkeypatch, tmp_path):
    monkeypatch.setenv(kernels.MADE, str(tmp_path))
    ahead.compile(["add"], ["cpu"], said.append)
    assert said == []


def test_several_are_compiled_at_once(monkeypatch):
    monkeypatch.delenv(kernels.MADE, raising=False)
    monkeypatch.setenv("MAX_JOBS", "4")
    together = threading.Barrier(2, timeout=60)  # breaks if one waits for another

    def build(rung, *, mode):
        together.wait()
        return Build({})

    monkeypatch.setattr(ahead, "compiled", build)
    ahead.compile(["add"], ["cpu"], lambda _: None)
