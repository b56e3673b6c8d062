# SPDX-License-Identifier: MIT
"""The top rungs of lab 04 are fast by their instructions: no GPU is asked."""

from __future__ import annotations

import pytest

from grader.toolchain import nvcc
from tests.proofs import machine_code, pages

MOST = {  # instructions for a product
    "matmul/06_warp_tile": 1.2,
    "matmul/07_double_buffer": 1.2,
    "matmul/09_tf32": 7,
    "matmul/10_3xtf32": 900 / 192,
    "matmul/12_half": 3.5,
    "linear/03_half": 3.5,
    "conv2d/02_implicit_gemm": 1.2,
    "conv2d/05_tf32": 8,
    "conv2d/06_half": 8,
    "conv2d/03_backward_input": 1.55,
    "depthwise_conv2d/02_register_column": 4.1,
    "depthwise_conv2d/04_filter_sums": 19,
    "subm_conv3d/02_gathered_tile": 2.5,
    "subm_conv3d/03_tile_backward": 2.5,
}
BRANCHES = {  # inner loops: of products, or for each size of a kernel
    "matmul/07_double_buffer": 1,
    "conv2d/03_backward_input": 1,
    "depthwise_conv2d/02_register_column": 2,
}


def tools() -> str:
    """Why the machine code cannot be read here; "" if it can."""
    page = (pages.RESULTS / machine_code.PAGE).read_text()
    if not machine_code.cuobjdump():
        return "no cuobjdump here"
    return "" if nvcc.release() in page else "figures belong to another nvcc"


needs_tools = pytest.mark.skipif(bool(tools()), reason=tools())


@pytest.mark.slow
@needs_tools
@pytest.mark.parametrize("rung", MOST)
def test_a_hot_loop_has_few_instructions_and_no_spills(rung):
    for code in machine_code.compiled(rung):
        assert code.each <= MOST[rung], code
        assert code.spills == 0 and code.calls == 0, code
        assert code.inner == BRANCHES.get(rung, 0), code


@pytest.mark.slow
@needs_tools
def test_the_page_is_what_nvcc_makes():
    found = (pages.RESULTS / machine_code.PAGE).read_text()
    assert found == machine_code.page(), (
        "write it again: python -m tests.proofs.machine_code"
    )


def loop(body, start=0):
    """Instructions in order, the last one of which branches to the first."""
    texts = [*body, f"BRA {start:#x}"]
    return [(f"{start + 16 * i:04x}", text) for i, text in enumerate(texts)]


def test_an_inner_loop_counts_as_often_as_it_runs():
    inner = loop(["FFMA R0, R1, R2, R0"] * 8, start=16)
    found = [("0000", "NOP"), *inner, ("00a0", "@P0 BRA 0x0")]
    assert machine_code.hot_loop(found, 4) == (11 + 3 * 9, 32, 0, 1)


def test_the_hot_loop_is_the_inner_one_if_products_are_in_no_other():
    inner = loop(["FFMA R0, R1, R2, R0"] * 8, start=16)
    found = [("0000", "NOP"), *inner, ("00a0", "@P0 BRA 0x0")]
    assert machine_code.hot_loop(found, 1) == (9, 8, 0, 0)


def test_of_a_part_of_a_step_the_next_loop_around_counts():
    inner = loop(["FFMA R0, R1, R2, R0"] * 8, start=16)
    step = [("0000", "NOP"), *inner, ("00a0", "@P0 BRA 0x0")]
    found = [*step, ("00b0", "NOP"), ("00c0", "@P1 BRA 0x0")]
    assert machine_code.hot_loop(found, 4) == (11 + 3 * 9, 32, 0, 1)


def test_a_call_is_seen_and_a_loop_without_products_is_none():
    found = loop(["HMMA.1688.F32.TF32 R0, R4, R8, R0"] * 8 + ["CALL.REL.NOINC 0x900"])
    assert machine_code.hot_loop(found, 1) == (10, 8, 1, 0)
    assert machine_code.hot_loop(loop(["IADD3 R0, R0, R1, RZ"] * 9), 1) is None
