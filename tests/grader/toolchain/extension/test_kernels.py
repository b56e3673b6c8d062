# SPDX-License-Identifier: MIT
"""Objects of lab 05's kernels, made into one."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import pytest

from grader.toolchain.extension import kernels
from tests import put

SHARED = """template <class T> __attribute__((noinline)) int number(T) { return %d; }
extern "C" int gelu_forward() { return number(1); }
"""


@pytest.mark.usefixtures("own_place")
def test_each_part_keeps_its_own_copy_of_a_template(tmp_path: Path):
    """Two objects of C++ have the same instance: a linker keeps one of such twins."""
    parts = []
    for number, dtype in enumerate(("f32", "f64")):
        source = put(tmp_path / f"{dtype}.cpp", SHARED % number)
        made = source.with_suffix(".o")
        words = ["c++", "-O1", "-fPIC", "-c", "-o", str(made), str(source)]
        subprocess.run(words, check=True, timeout=60)
        parts.append((made, {"gelu_forward": f"gelu_forward_cuda_{dtype}"}))
    (tmp_path / "work").mkdir()
    whole, library = tmp_path / "work" / "gelu.o", tmp_path / "gelu.so"
    kernels._linked(parts, whole)
    words = ["c++", "-shared", "-o", str(library), str(whole)]
    subprocess.run(words, check=True, timeout=60)
    loaded = ctypes.CDLL(str(library))
    assert loaded.gelu_forward_cuda_f32() == 0
    assert loaded.gelu_forward_cuda_f64() == 1
