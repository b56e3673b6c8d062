# SPDX-License-Identifier: MIT
"""CUDA C on the CPU: right programs run silently, each bug is named at its line.

tests/programs/cusim/bugs, right and foreign were written by somebody who had not seen
cusim's inside; they stay as strangers write CUDA, and no lint touches them. All of it
on clang, and in a hundred thread orders, is `make stress`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
from cusim.build import Built, build
from cusim.report import Report, render_counts
from cusim.run import Ran, run

from tests import PROGRAMS, ROOT, WHOLE, put, some

HERE = PROGRAMS / "cusim"
BUGS: list[dict[str, Any]] = tomllib.loads(
    (HERE / "bugs" / "expected.toml").read_text()
)["bug"]
SEEN = [bug for bug in BUGS if "kind" in bug]
RIGHT = sorted([*(HERE / "right").glob("*.cu"), *(HERE / "foreign").glob("*.cu")])
OWN = ["torture", "numbers", "groups", "tensor_cores", "atomics"]
CLANG = shutil.which("clang++-14") or shutil.which("clang++")
COMPILERS = ["g++", CLANG or "clang++"]  # a missing one is skipped, and CI fails then
ON_CLANG = [b for b in SEEN if "only" not in b][::6]  # all of them in make stress


every_compiler = pytest.mark.parametrize(
    "compiler", COMPILERS, ids=[Path(c).name for c in COMPILERS]
)


def built(source: Path, mode: str, compiler: str = "g++") -> Built:
    """The program, or the test ends with what the compiler said."""
    if not shutil.which(compiler):
        pytest.skip(f"needs {compiler}")
    done = build(source, mode=mode, compiler=compiler)
    assert done.ok, done.messages
    return done


def ran(source: Path, mode: str, compiler: str = "g++", **how: Any) -> Ran:
    """Built and run; a thread spins if it takes two seconds."""
    return run(built(source, mode, compiler).path, patience=2, deadline=120, **how)


def said(report: Report) -> list[str]:
    """Findings as short words, for a message."""
    return [f"{f.level} {f.kind} {f.lines}: {f.sentence}" for f in report.findings]


# ---- bugs ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bug", "compiler"),
    [
        pytest.param(bug, compiler, id=f"{bug['file'][:-3]}-{Path(compiler).name}")
        for compiler, bugs in zip(COMPILERS, (some(SEEN, every=2), ON_CLANG))
        for bug in bugs
    ],
)
def test_a_bug_has_its_name_at_its_line(bug: dict[str, Any], compiler: str) -> None:
    found = ran(HERE / "bugs" / bug["file"], bug["mode"], compiler).report
    named = [f for f in found.findings if f.kind == bug["kind"]]
    assert any(set(f.lines) & set(bug["lines"]) for f in named), said(found)


def test_a_bug_that_is_not_seen_says_why() -> None:
    assert all(bug["instead"] for bug in BUGS if "kind" not in bug)
    assert len(BUGS) >= 30


def test_a_thread_that_works_for_long_does_not_spin() -> None:
    """As long as its accesses are seen: in the build for races and traffic."""
    program = built(HERE / "one_thread.cu", "trace").path
    begin = time.monotonic()
    done = run(program, patience=1, deadline=300)
    assert time.monotonic() - begin > 1
    assert (done.status, said(done.report)) == (0, []), done.output
    assert done.output == "300\n"
    assert {count.lanes_per_request for count in done.report.counts} == {1.0}


# ---- right programs ------------------------------------------------------------------


MODES = ["run", "check", "trace"]
IN_TURN = [(path, MODES[i % len(MODES)]) for i, path in enumerate(RIGHT)]
IN_ALL = [(path, mode) for path in RIGHT for mode in MODES]


@pytest.mark.parametrize(
    ("source", "mode"),
    IN_ALL if WHOLE else IN_TURN,
    ids=lambda given: given.stem if isinstance(given, Path) else given,
)
def test_a_right_program_raises_no_alarm(source: Path, mode: str) -> None:
    done = ran(source, mode)
    assert (done.status, said(done.report)) == (0, []), done.output[-2000:]


@pytest.mark.parametrize("source", RIGHT, ids=[path.stem for path in RIGHT])
def test_a_right_program_is_right_in_every_order_of_threads(source: Path) -> None:
    program = built(source, "trace").path
    for order, seed in (("reverse", 0), ("random", 1), ("random", 2)):
        done = run(program, order=order, seed=seed, deadline=120)
        assert (done.status, said(done.report)) == (0, []), (order, seed, done.output)


@every_compiler
@pytest.mark.parametrize("name", OWN)
def test_the_parts_of_cuda_c_that_are_there(name: str, compiler: str) -> None:
    done = ran(HERE / f"{name}.cu", "run", compiler)
    assert done.status == 0, done.output[-2000:]
    assert done.output.splitlines()[-1].startswith("ok "), done.output[-2000:]


# ---- counts --------------------------------------------------------------------------


@every_compiler
def test_counts_are_those_one_can_work_out_by_hand(compiler: str) -> None:
    done = ran(HERE / "metrics.cu", "trace", compiler)
    got = {
        (c.kernel, c.space, c.op): (c.sectors_per_request, c.wavefronts_per_request)
        for c in done.report.counts
    }
    right = {
        ("coalesced", "global", "load"): (4, 0),
        ("coalesced", "global", "store"): (4, 0),
        ("vec4", "global", "load"): (16, 0),
        ("vec4", "global", "store"): (16, 0),
        ("strided", "global", "load"): (32, 0),
        ("transpose<0>", "shared", "load"): (0, 32),
        ("transpose<0>", "shared", "store"): (0, 1),
        ("transpose<1>", "shared", "load"): (0, 1),
    }
    assert {key: got[key] for key in right} == right
    whole = {"some_of_4", "by_a_function"}  # 16 bytes a thread in one access
    loads = [c for c in done.report.counts if c.kernel in whole and c.op == "load"]
    assert [(c.requests, c.sectors_per_request) for c in loads] == [(32, 16)] * 2


@every_compiler
def test_loads_of_shared_pairs_take_half_the_wavefronts(compiler: str) -> None:
    report = ran(HERE / "metrics.cu", "trace", compiler).report
    got = {(c.kernel, c.op): c.wavefronts for c in report.counts if c.space == "shared"}
    of_16 = {0: 4, 1: 2, 2: 2, 4: 4}  # lanes i and i ^ key read the same 16 bytes
    right = {
        **{(f"read_16<{apart}>", "load"): most for apart, most in of_16.items()},
        **{(f"read_8<{apart}>", "load"): most // 2 for apart, most in of_16.items()},
        ("read_16<1>", "store"): 4,
        ("half_shares", "load"): 4,
        ("first_lanes<31>", "load"): 4,
        ("first_lanes<30>", "load"): 2,
        ("stores_share", "load"): 2,
        ("stores_share", "store"): 4,
    }
    assert {key: got[key] for key in right} == right


def test_the_guide_shows_a_program_and_what_is_counted_of_it(tmp_path: Path) -> None:
    page = (ROOT / "docs/guides/cuda_on_the_cpu.md").read_text()
    found = re.search(r"```\n(#include.*?)```\n.*?```\n(.*?)```", page, re.S)
    assert found
    counted = render_counts(ran(put(tmp_path / "kernel.cu", found[1]), "trace").report)
    shown, every = (
        [" ".join(row.split()) for row in rows.splitlines()]
        for rows in (found[2], counted)
    )
    assert len(shown) == 3 and len(every) == 9
    assert set(shown) <= set(every)


@every_compiler
def test_lanes_in_the_same_turn_of_a_loop_make_one_request(compiler: str) -> None:
    counts = ran(HERE / "loops.cu", "trace", compiler).report.counts
    right = {
        "skip": (9, 9 * 32 * 2 // 3, 4),
        "trips": (4 * 3, 4 * (24 + 16 + 8), 4),
        "calls": (2 * 2, 2 * (32 + 16), 4),
    }
    got = {
        c.kernel: (c.requests, c.lanes, c.sectors_per_request)
        for c in counts
        if c.op == "load" and c.kernel in right
    }
    assert got == right


@every_compiler
def test_a_tiled_matmul_moves_what_the_formula_says(compiler: str) -> None:
    done = ran(HERE / "tiled_matmul.cu", "trace", compiler)
    M, N, K, TILE = 64, 96, 128, 16
    loads = {c.line: c.bytes for c in done.report.counts if c.op == "load" and c.bytes}
    # a tile of output reads K/TILE tiles of both matrices, all of it in whole sectors
    wanted = M * N * K // TILE * 4
    assert sorted(loads.values()) == [wanted, wanted]
    stored = sum(c.bytes for c in done.report.counts if c.op == "store" and c.bytes)
    assert stored == M * N * 4


# ---- orders, the command -------------------------------------------------------------


REVERSED = (HERE / "bugs" / "07_reverse_no_barrier.cu").read_text()
LAST = "buf[TPB - 1 - threadIdx.x]"


@pytest.mark.parametrize(
    ("threads", "who", "remedy"),
    [
        (256, "one block", "put __syncthreads() between the two accesses"),
        (
            32,
            "one warp",
            "put __syncwarp() or __syncthreads() between the two accesses",
        ),
    ],
)
def test_syncwarp_is_offered_only_where_one_warp_races(
    tmp_path: Path, threads: int, who: str, remedy: str
) -> None:
    """Most neighbours are in one warp, and meet before the one pair that is not."""
    text = REVERSED.replace("#define TPB 256", f"#define TPB {threads}")
    text = text.replace(LAST, "buf[(threadIdx.x + 1) % TPB]")
    report = ran(put(tmp_path / "shift.cu", text), "trace").report
    race = next(f for f in report.findings if f.kind == "race")
    assert f"two threads of {who} use the same word" in race.sentence
    assert race.sentence.endswith(remedy), said(report)


UNFILLED = (HERE / "bugs" / "30_uninit_shared.cu").read_text()
GUARD = "if (i < (unsigned)n) sh[t]"


def test_threads_that_returned_before_a_barrier_are_told_where_their_words_are_missing(
    tmp_path: Path,
) -> None:
    assert GUARD in UNFILLED
    early = UNFILLED.replace(GUARD, "if (i >= (unsigned)n) return; sh[t]")
    for text, returned in ((UNFILLED, False), (early, True)):
        report = ran(put(tmp_path / f"early_{returned}.cu", text), "trace").report
        first = next(f for f in report.findings if f.kind == "uninitialized_shared")
        words = "68 of the block's 256 threads had returned before the last barrier"
        assert (words in first.sentence) is returned, said(report)


@pytest.mark.parametrize(
    "end",
    [
        "if (threadIdx.x == 31) __trap();",
        "if (threadIdx.x) __syncthreads(); else __syncwarp();",
    ],
)
def test_a_race_in_one_warp_is_told_of_a_block_that_never_ends(
    tmp_path: Path, end: str
) -> None:
    assert REVERSED.count(f"{LAST};") == 1
    text = REVERSED.replace("#define TPB 256", "#define TPB 32")
    text = text.replace(f"{LAST};", f"{LAST};\n  {end}")
    report = ran(put(tmp_path / "ends.cu", text), "trace").report
    kinds = {f.kind for f in report.findings if f.level == "error"}
    assert "race" in kinds and len(kinds) > 1, said(report)


def test_an_order_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="expected one of forward, reverse, random"):
        run(Path("/bin/true"), order="sideways")


def test_the_command_shows_findings_and_fails() -> None:
    file = HERE / "bugs" / "09_histogram_blocks.cu"
    paths = {"PYTHONPATH": str(ROOT / "common" / "python")}
    done = subprocess.run(
        [sys.executable, "-m", "cusim", "count", str(file)],
        cwd=ROOT,
        env={**os.environ, **paths},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "error: race: two threads of different blocks" in done.stderr
    assert f"{file.name}:18" in done.stderr and "global load 4" in done.stdout
