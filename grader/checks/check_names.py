# SPDX-License-Identifier: MIT
"""Writes out the names of checks for people; results keep short names."""

from __future__ import annotations

from grader.course.exhibits import CASE_CHECK

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


def named(check: str, direction: str) -> str:
    """A check while it runs: "memory accesses, backward"."""
    return f"{CHECKS.get(check, check)}, {direction}"
