# SPDX-License-Identifier: MIT
"""The operators of exhibits: common/exhibits.h, its calls and the signatures agree."""

from __future__ import annotations

import re

import pytest
from signatures import SIGNATURES, Signature
from signatures.of_exhibits import ALL, EXHIBITS, NUMBERED, number, numbered
from signatures.view_names import VIEWS

from grader import operators
from tests import ROOT
from tests.common.test_contract import DIRECTIONS, expected

HEADER = (ROOT / "common" / "exhibits.h").read_text()
CODE = re.sub(r"/\*.*?\*/", "", HEADER, flags=re.S)
IN_C = re.findall(r"/\* ---- (\w+) -+\n", HEADER)

every_one = pytest.mark.parametrize("signature", EXHIBITS.values(), ids=list(EXHIBITS))


def test_the_header_and_its_calls_have_the_first_ones_in_the_same_order() -> None:
    calls = (ROOT / "common" / "exhibit_calls.c").read_text()
    assert list(EXHIBITS)[: len(IN_C)] == IN_C
    assert [n for n in re.findall(r"ROW\((\w+)\)", calls) if n != "op"] == IN_C
    count = re.search(r"EXHIBITS = (\d+)", (ROOT / "common" / "calls.h").read_text())
    assert count and int(count[1]) == len(IN_C)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("name", IN_C)
def test_a_prototype_has_the_arguments_of_the_signature(
    name: str, direction: str
) -> None:
    found = re.search(rf"\nstatus_t {name}_{direction}\(([^)]*)\);", CODE)
    assert found
    parameters = [" ".join(one.split()) for one in found[1].split(",")]
    assert parameters == expected(EXHIBITS[name], direction)


@pytest.mark.parametrize("name", IN_C)
def test_an_options_struct_has_the_fields_of_the_signature(name: str) -> None:
    body = re.search(rf"typedef struct {{([^}}]*)}} {name}_params_t;", CODE)
    fields = re.findall(r"(int64_t|double) ([\w, ]+);", body[1]) if body else []
    found = [(kind, field) for kind, some in fields for field in some.split(", ")]
    assert found == [
        ("double" if option.kind == "float" else "int64_t", field)
        for option in EXHIBITS[name].options
        for field in option.fields
    ]


@every_one
def test_no_task_has_the_operator_and_its_entry_is_found(signature: Signature) -> None:
    assert signature.name not in SIGNATURES and not signature.module
    operator = operators.get(signature.name)
    assert operator.signature is signature and len(operator.cases(7)) > 8


def test_numbers_go_on_after_the_operators_and_the_views() -> None:
    assert [number(name) for name in SIGNATURES] == list(range(len(SIGNATURES)))
    assert number(IN_C[0]) == len(SIGNATURES) + len(VIEWS)
    assert all(numbered(number(name)).name == name for name in ALL)
    assert len(NUMBERED) == len(ALL) + len(VIEWS)
