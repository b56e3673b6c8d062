# SPDX-License-Identifier: MIT
"""Maps old ids of tasks and rungs to their ids today, for `T=` and for old results.

One table, old -> new, holds ids or beginnings of ids. If you rename a folder or a file
of a lab, add a line.
"""

from __future__ import annotations

from typing import Any

RENAMED = {
    "02_naive_c/subm_conv2d": "02_naive_c/subm_conv3d",
    "04_cuda_kernels/matmul/08_tf32": "04_cuda_kernels/matmul/09_tf32",
    "04_cuda_kernels/matmul/09_3xtf32": "04_cuda_kernels/matmul/10_3xtf32",
    "04_cuda_kernels/matmul/10_wgmma": "04_cuda_kernels/matmul/11_wgmma",
    "03_im2col_cpu/conv2d/15_dispatch": "03_im2col_cpu/conv2d/17_dispatch",
    "03_im2col_cpu/conv2d/16_parts": "03_im2col_cpu/conv2d/18_parts",
    "03_im2col_cpu/conv2d/17_threads": "03_im2col_cpu/conv2d/19_threads",
    "03_im2col_cpu/conv2d/17_depthwise": (
        "03_im2col_cpu/depthwise_conv2d/02_padded_plane"
    ),
    "03_im2col_cpu/conv2d/18_depthwise_input": (
        "03_im2col_cpu/depthwise_conv2d/04_turned_kernel"
    ),
    "03_im2col_cpu/conv2d/19_depthwise_weight": (
        "03_im2col_cpu/depthwise_conv2d/05_lane_sums"
    ),
}


def current(name: str) -> str:
    """The id that a task or rung has today."""
    for old, new in RENAMED.items():
        if name == old or name.startswith(f"{old}/"):
            return new + name[len(old) :]
    return name


def results(found: dict[str, Any]) -> dict[str, Any]:
    """The contents of results.json under today's ids."""
    for task in found["tasks"]:
        task["id"] = current(task["id"])
        for rung in task["rungs"]:
            rung["id"] = current(rung["id"])
            rung["uses"] = {
                alias: current(used) for alias, used in rung["uses"].items()
            }
    return found
