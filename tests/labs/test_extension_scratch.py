# SPDX-License-Identifier: MIT
"""Scratch memory that lab 05 keeps from call to call."""

from __future__ import annotations

import subprocess

import pytest

from grader.toolchain.extension.kernels import LAB
from tests import PROGRAMS


@pytest.mark.parametrize("sanitizer", ["address", "thread"])
def test_it_is_whole_apart_and_kept(sanitizer, tmp_path):
    program = tmp_path / "scratch"
    command = ["c++", "-std=c++20", "-g", "-O1", "-Wall", "-Wextra", "-Werror"]
    command += [f"-fsanitize={sanitizer}", f"-I{LAB / 'csrc'}", "-pthread"]
    source = PROGRAMS / "extension" / "scratch.cpp"
    subprocess.run([*command, str(source), "-o", program], check=True, timeout=120)
    options = "allocator_may_return_null=1"  # a request for all the memory there is
    sanitizers = {"ASAN_OPTIONS": options, "TSAN_OPTIONS": options}
    done = subprocess.run(
        [program], env=sanitizers, capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "ok\n", done.stderr[-2000:]
