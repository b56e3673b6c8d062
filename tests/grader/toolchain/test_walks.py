# SPDX-License-Identifier: MIT
"""A walk hands on what the upper rung leaves, and nothing else."""

from __future__ import annotations

import ctypes
import re
import subprocess
from pathlib import Path

import pytest
from ladders import walks
from signatures import DIRECTIONS, SIGNATURES
from signatures.structs import ContextC

from grader.course.rungs import ROOT
from grader.toolchain import linking

OK, NO_MEMORY, UNSUPPORTED = 0, 3, 5
LINEAR = """
#include "operators.h"
int32_t status, left, inside, asked = -1;
status_t own_backward(ctx_t *ctx, const tensor_t *g, const tensor_t *x,
                      const tensor_t *w, tensor_t *a, tensor_t *b, tensor_t *c)
{
    inside = ctx->left;
    ctx->left = left;
    return (status_t)status;
}
status_t lower_backward(ctx_t *ctx, const tensor_t *g, const tensor_t *x,
                        const tensor_t *w, tensor_t *a, tensor_t *b, tensor_t *c)
{
    asked = (a ? 1 : 0) | (b ? 2 : 0) | (c ? 4 : 0);
    return STATUS_OK;
}
"""


@pytest.fixture(scope="module")
def linear(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The walk of linear's backward, between two rungs that do as they are told."""
    folder = tmp_path_factory.mktemp("walk")
    file = folder / "rungs.c"
    file.write_text(LINEAR)
    order = ["gcc", "-std=c11", "-DREAL_F32", f"-I{ROOT}/common", "-shared", "-fPIC"]
    made = folder / "walk.so"
    objects = [str(file), str(linking.walk("linear", "backward"))]
    subprocess.run([*order, "-o", str(made), *objects], check=True)
    return ctypes.CDLL(str(made))


@pytest.mark.parametrize(
    ("status", "left", "wanted", "asked", "returned"),
    [
        pytest.param(OK, 0, 7, -1, OK, id="nothing_left"),
        pytest.param(OK, 6, 7, 6, OK, id="two_left"),
        pytest.param(OK, 6, 3, 2, OK, id="one_of_them_wanted"),
        pytest.param(OK, 6, 1, -1, OK, id="none_of_them_wanted"),
        pytest.param(UNSUPPORTED, 0, 5, 5, OK, id="all_left"),
        pytest.param(UNSUPPORTED, 4, 7, 7, OK, id="bits_beside_unsupported"),
        pytest.param(NO_MEMORY, 6, 7, -1, NO_MEMORY, id="failed"),
    ],
)
def test_what_is_left_and_wanted_is_asked_of_the_lower_rung(
    linear: ctypes.CDLL, status: int, left: int, wanted: int, asked: int, returned: int
) -> None:
    word = {name: ctypes.c_int32.in_dll(linear, name) for name in ("status", "left")}
    word["status"].value, word["left"].value = status, left
    seen = ctypes.c_int32.in_dll(linear, "asked")
    seen.value = -1
    context = ContextC(left=8)  # of a rung that calls this walk
    tensor = ctypes.create_string_buffer(256)
    grads = [tensor if wanted >> i & 1 else None for i in range(3)]
    given = [ctypes.byref(context), tensor, tensor, tensor, *grads]
    assert linear.linear_backward(*given) == returned
    assert (seen.value, context.left) == (asked, 8)
    assert ctypes.c_int32.in_dll(linear, "inside").value == 0


@pytest.mark.parametrize("operator", SIGNATURES)
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_walk_has_the_prototype_of_operators_h(operator: str, direction: str) -> None:
    """The compiler compares the calls; the names are compared here."""
    header = (ROOT / "common" / "operators.h").read_text()
    name = f"{operator}_{direction}"
    found = re.search(rf"^status_t {name}\(([^)]*)\);", header, re.MULTILINE)
    assert found
    head = walks.source(operator, direction).partition(f"status_t {name}(")[2]
    assert head.partition(")")[0] == " ".join(found[1].split())
    assert Path(linking.walk(operator, direction)).exists()


def test_a_walk_is_made_once_and_anew_when_its_text_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linking, "build_folder", lambda: tmp_path)
    made = Path(linking.walk("gelu", "forward"))
    date = made.stat().st_mtime_ns
    assert Path(linking.walk("gelu", "forward")).stat().st_mtime_ns == date
    changed = walks.source("gelu", "forward").replace("return", "ctx->left = 9; return")
    monkeypatch.setattr(walks, "source", lambda *_: changed)
    assert Path(linking.walk("gelu", "forward")).stat().st_mtime_ns != date
