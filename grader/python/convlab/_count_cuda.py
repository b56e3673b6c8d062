# SPDX-License-Identifier: MIT
"""Runs a few lines of CUDA C without a GPU and counts their accesses, for notebooks.

    convlab.count_cuda('''
        #include <cuda_runtime.h>
        __global__ void fill(float *x) { x[threadIdx.x] = 1; }
        int main() { float *x; cudaMalloc(&x, 128); fill<<<1, 32>>>(x); }
    ''')

shows what each line of a kernel moved, and what is wrong with it. It is a whole program
with a `main`; `python -m cusim count` does the same for a file.
"""

from __future__ import annotations

import hashlib
import os
import textwrap
from dataclasses import dataclass, field

from cusim.build import build
from cusim.report import Count, Finding, Report, render_counts, render_findings
from cusim.run import run

from convlab._load_error import LoadError
from convlab._native import python_folder


@dataclass(frozen=True)
class Counted:
    """What a program printed, moved and did wrong."""

    output: str
    counts: list[Count] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def __repr__(self) -> str:
        """The table of `python -m cusim count`, with what was printed and found."""
        report = Report(self.findings, self.counts)
        parts = [
            self.output.rstrip(),
            render_counts(report) if self.counts else "",
            render_findings(report),
        ]
        return "\n\n".join(part for part in parts if part) or "nothing was counted"


def count_cuda(source: str) -> Counted:
    """Build a program in CUDA C, run it, count its accesses, look for races.

    Its path is not the reader's: places are named by the line within `source`. Raises
    LoadError with the compiler's words if it cannot be built.
    """
    text = textwrap.dedent(source).lstrip("\n")
    folder = python_folder() / "snippets"
    folder.mkdir(parents=True, exist_ok=True)
    name = hashlib.sha256(text.encode()).hexdigest()[:20]
    file = folder / name / "program.cu"
    file.parent.mkdir(exist_ok=True)
    if not file.exists() or file.read_text() != text:
        file.write_text(text)
    compiler = os.environ.get("CXX", "").strip() or "g++"
    built = build(file, mode="trace", compiler=compiler, folder=file.parent)
    if not built.ok:
        raise LoadError(built.messages.strip())
    ran = run(built.path)
    return Counted(ran.output, ran.report.counts, ran.report.findings)
