# SPDX-License-Identifier: MIT
"""cusim's counts beside those of a card, as Nsight Compute reads them.

    python -m tests.proofs.stress ncu

runs tests/programs/cusim/metrics.cu (a copy, the same with float4, one with a stride of
32, a transpose without and with a column of padding) twice: by cusim, and by nvcc under
`ncu` on a GPU. Sectors, wavefronts and requests of each kernel have to be equal. The
table goes to docs/results/ncu.md; without a GPU or without ncu it says that this is
pending.
"""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping

from cusim.build import build
from cusim.report import Count
from cusim.run import run

from grader.toolchain import gpu_probe
from tests import PROGRAMS
from tests.proofs import pages

SOURCE = PROGRAMS / "cusim" / "metrics.cu"
TITLE = "# cusim's counts and a card's"
PENDING = "pending: cusim's sectors and wavefronts were never compared with a card's"
METRICS = {  # of Nsight Compute -> what it is in a count of cusim
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": ("global", "load", "requests"),
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum": ("global", "store", "requests"),
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": ("global", "load", "sectors"),
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum": ("global", "store", "sectors"),
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum": (
        "shared",
        "load",
        "wavefronts",
    ),
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum": (
        "shared",
        "store",
        "wavefronts",
    ),
}
_KERNEL = re.compile(r"^(?:void )?(\w+)(?:<(?:\(\w+\))?(\d+)>)?")
Numbers = dict[tuple[str, str], float]  # (kernel, metric) -> value


def short(name: str) -> str:
    """transpose<0>, of "void transpose<(int)0>(const float *, float *)"."""
    found = _KERNEL.match(name)
    if not found:
        return name
    return found[1] + (f"<{found[2]}>" if found[2] else "")


def printed(text: str) -> Iterator[tuple[str, str, float]]:
    """(kernel, metric, value), of the table that ncu prints among its other lines."""
    lines = text.splitlines()
    head = next((i for i, line in enumerate(lines) if '"Metric Value"' in line), None)
    if head is None:
        return
    for row in csv.DictReader(line for line in lines[head:] if line.startswith('"')):
        value = (row.get("Metric Value") or "").replace(",", "")
        if re.fullmatch(r"[\d.]+", value):
            yield row["Kernel Name"], row["Metric Name"], float(value)


def of_ncu(text: str) -> Numbers:
    """The numbers of METRICS by kernel."""
    return {
        (short(kernel), metric): value
        for kernel, metric, value in printed(text)
        if metric in METRICS
    }


def of_cusim(counts: Iterable[Count]) -> Numbers:
    """The same numbers by cusim."""
    found: Numbers = {}
    for count in counts:
        for metric, (space, op, word) in METRICS.items():
            if (count.space, count.op) == (space, op):
                key = short(count.kernel), metric
                found[key] = found.get(key, 0) + getattr(count, word)
    return found


def differences(ours: Mapping[tuple[str, str], float], theirs: Numbers) -> list[str]:
    """Where the two disagree; a number that one of them lacks is 0."""
    kernels = {kernel for kernel, _ in ours}
    both = sorted(set(ours) | {key for key in theirs if key[0] in kernels})
    return [
        f"{kernel} {metric}: cusim {ours.get((kernel, metric), 0):g}, "
        f"card {theirs.get((kernel, metric), 0):g}"
        for kernel, metric in both
        if ours.get((kernel, metric), 0) != theirs.get((kernel, metric), 0)
    ]


def why_not() -> str:
    """Why there is nothing to compare with; "" if there is."""
    if gpu_probe.card() is None:
        return gpu_probe.absent()
    return "" if shutil.which("ncu") else "Nsight Compute (ncu) is not installed"


def command(*program: str, metrics: Iterable[str] = METRICS) -> list[str]:
    """What ncu is told. By default it locks the card's clocks, which are not ours, and
    prints 1,024 sectors as 1.02 Ksector.
    """
    words = ["ncu", "--csv", "--clock-control", "none", "--print-units", "base"]
    return [*words, "--metrics", ",".join(metrics), *program]


def profiled() -> str:
    """What ncu says of the kernels on this card. It may need the right to read
    counters: its own words say so.
    """
    kit = gpu_probe.toolkit()
    assert kit
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/metrics"
        card = gpu_probe.card()
        assert card
        order = [str(kit.nvcc), "-O3", f"-arch={card.architecture}", "-o", program]
        subprocess.run([*order, str(SOURCE)], check=True, timeout=120)
        words = command(program)
        done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    return done.stdout + done.stderr


def main(machine: str) -> int:
    """Compare, and write the table. 0 also where it is pending."""
    if reason := why_not():
        print(f"{PENDING} ({reason})")
        return 0
    made = build(SOURCE, mode="trace", compiler="g++")
    ours = of_cusim(run(made.path).report.counts)
    said = profiled()
    theirs = of_ncu(said)
    if not theirs:
        print(f"{PENDING}: ncu gave no numbers: {said.strip()[-300:]}")
        return 1
    wrong = differences(ours, theirs)
    card = gpu_probe.card()
    assert card
    made = f"Made by `python -m tests.proofs.stress ncu` on {card.words}, {machine}."
    rows = [[*key, f"{ours[key]:g}", f"{theirs.get(key, 0):g}"] for key in sorted(ours)]
    lines = pages.table(["kernel", "metric", "cusim", "card"], rows, words=2)
    differs = "\n".join(f"- differs: {line}" for line in wrong)
    pages.write("ncu.md", TITLE, made, "\n".join(lines), differs)
    print("\n".join(wrong) or "all equal")
    return 1 if wrong else 0


if __name__ == "__main__":  # where the other proofs' packages are not installed
    sys.exit(main("python -m tests.common.cusim.against_ncu"))
