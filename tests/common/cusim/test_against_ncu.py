# SPDX-License-Identifier: MIT
"""What Nsight Compute prints is read right, and compared with what cusim counts."""

from __future__ import annotations

import pytest
from cusim.report import Count

from grader.toolchain import gpu_probe
from tests.common.cusim import against_ncu, rungs_under_ncu

LOADS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
BANKS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"
SAID = f"""==PROF== Connected to process 77
==PROF== Profiling "strided" - 0: 0%....100% - 1 pass
ok
==PROF== Disconnected from process 77
"ID","Process ID","Kernel Name","Device","Metric Name","Metric Unit","Metric Value"
"0","77","strided(const float *, float *)","0","{LOADS}","sector","1,024"
"1","77","void transpose<(int)0>(const float *, float *)","0","{BANKS}","","1024"
"1","77","void transpose<(int)0>(const float *, float *)","0","other","","5"
"""


def test_the_table_of_ncu_is_found_among_its_other_words():
    assert against_ncu.of_ncu(SAID) == {
        ("strided", LOADS): 1024,
        ("transpose<0>", BANKS): 1024,
    }
    assert against_ncu.of_ncu("==ERROR== no permission") == {}


def test_ncu_leaves_the_clocks_alone_and_prints_whole_numbers():
    words = " ".join(against_ncu.command("metrics"))
    assert "--clock-control none --print-units base" in words


def test_the_numbers_of_a_rung_are_those_of_all_its_kernels_together():
    twice = f"""{SAID}"2","77","other(int)","0","{LOADS}","sector","6"\n"""
    found = rungs_under_ncu.summed(twice)
    assert (found["sectors"], found["wavefronts"]) == (1030, 1024)
    assert rungs_under_ncu.summed("==ERROR== no permission") == {}


@pytest.mark.parametrize(("sectors", "marked"), [(1000.0, ""), (1100.0, "differs")])
def test_a_rung_that_the_card_counts_otherwise_is_marked(sectors, marked):
    row = {"rung": "04_cuda_kernels/add/00", "direction": "forward", "case": "small"}
    row |= {"requests": 250, "bytes": 32_000, "wavefronts": 0.0}
    card = {"requests": 250.0, "sectors": sectors}
    assert rungs_under_ncu.Compared(row, card).cells[-1] == marked


def test_lines_of_a_kernel_are_added_and_differences_named():
    counts = [
        Count("strided", "x.cu", 3, "global", "load", requests=32, sectors=1000),
        Count("strided", "x.cu", 4, "global", "load", requests=32, sectors=24),
        Count("transpose<0>", "x.cu", 9, "shared", "load", wavefronts=1000),
    ]
    ours = against_ncu.of_cusim(counts)
    assert ours["strided", LOADS] == 1024
    ours = {key: value for key, value in ours.items() if key[1] in (LOADS, BANKS)}
    (wrong,) = against_ncu.differences(ours, against_ncu.of_ncu(SAID))
    assert wrong == f"transpose<0> {BANKS}: cusim 1000, card 1024"


def test_without_a_card_the_comparison_says_that_it_is_pending(monkeypatch, capsys):
    monkeypatch.setattr(gpu_probe, "card", lambda: None)
    monkeypatch.setattr(gpu_probe, "absent", lambda: "there is no GPU here")
    assert against_ncu.main("gcc") == 0
    assert capsys.readouterr().out.startswith("pending: ")


@pytest.mark.skipif(
    bool(against_ncu.why_not()), reason=f"{gpu_probe.NEEDS}: {against_ncu.why_not()}"
)
def test_a_card_counts_what_cusim_counts():
    assert against_ncu.main("") == 0
