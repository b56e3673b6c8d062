# SPDX-License-Identifier: MIT
"""Writes out the names of checks and dtypes for people; results keep short names."""

from __future__ import annotations

from grader.checks.check_result import IN_FULL, CheckResult
from grader.course.exhibits import CASE_CHECK

DIRECTION = ("forward", "gradient")  # checks that are named by their direction
CHECKS = {
    "build": "build",
    "nvcc": "compilation by nvcc",
    "audit": "allowed operators",
    "no_memory": "no scratch memory left",
    "module": "module",
    "gradcheck": "finite differences",
    "second": "second derivatives",
    "threads": "several threads",
    "half": "half precision",
    "memory": "memory accesses",
    "races": "races",
    "order": "order of threads",
    "traffic": "memory traffic",
    "errors": "refused arguments",
    "opcheck": "opcheck",
    "vmap": "vmap",
    "autocast": "autocast",
    "export": "export",
    "onnx": "ONNX",
    "compile": "torch.compile",
    "mask": "unwanted gradients",
    "gradgradcheck": "second derivatives by finite differences",
    "forward_ad": "forward-mode derivatives",
    "torch_func": "torch.func",
    "cuda": "values on CUDA",
    CASE_CHECK: "the case that exposes the bug",
}


def check_words(check: CheckResult) -> str:
    """forward in float32; memory accesses, backward in float32"""
    parts = [CHECKS[check.name]] if check.name in CHECKS else []
    if not parts and check.name not in DIRECTION:
        parts = [check.name.replace("_", " ")]  # of another grader's results
    if check.direction and check.direction != CASE_CHECK:
        parts.append(check.direction)
    in_type = f" in {IN_FULL.get(check.dtype, check.dtype)}" if check.dtype else ""
    return ", ".join(parts) + in_type
