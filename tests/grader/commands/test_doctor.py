# SPDX-License-Identifier: MIT
"""`make doctor` ends with what to install first, and what that gains."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader.commands import doctor

THERE = [replace(item, found="found") for item in doctor.items()]


def without(*names: str) -> str:
    found = [
        replace(item, found="") if item.name.startswith(names) else item
        for item in THERE
    ]
    return doctor.first(found)


def test_where_nothing_is_missing_nothing_is_advised() -> None:
    assert doctor.first(THERE) == "Nothing that you can install is missing."
    assert without("GPU", "PyTorch") == doctor.first(THERE)  # no command brings them


@pytest.mark.parametrize(
    ("missing", "name"),
    [
        (("gdb", "nvcc"), "gdb"),
        (("C compiler", "gdb", "sanitizers"), "C compiler"),
        (("sanitizers", "clang", "ONNX"), "sanitizers"),
        (("nvcc",), "nvcc"),
    ],
)
def test_of_several_the_one_that_gains_most_is_named(
    missing: tuple[str, ...], name: str
) -> None:
    said = without(*missing)
    assert said.startswith(f"Install first: {name}") and ". Then " in said


def test_whatever_can_be_installed_says_what_it_gains() -> None:
    for item in THERE:
        assert bool(item.install) <= bool(item.gain), item.name
