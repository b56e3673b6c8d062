# SPDX-License-Identifier: MIT
"""Prepares nvcc's figures of a rung of lab 04 for the HTML report.

There is a row for each kernel and architecture.
"""

from __future__ import annotations

from grader.toolchain.nvcc import Compiled, Kernel


def by_name(nvcc: Compiled) -> dict[str, list[Kernel]]:
    """A kernel's name, and what it takes on each architecture."""
    found: dict[str, list[Kernel]] = {}
    for kernel in nvcc.kernels:
        found.setdefault(kernel.name, []).append(kernel)
    return found


def summary(nvcc: Compiled) -> str:
    """The most that any kernel takes, in a line."""
    count = len(by_name(nvcc))
    spills = max(kernel.spills for kernel in nvcc.kernels)
    return (
        f"{count} kernel{'s' if count > 1 else ''}, at most "
        f"{max(kernel.registers for kernel in nvcc.kernels)} registers a thread, "
        + (f"{spills} bytes spilled" if spills else "nothing spilled")
    )
