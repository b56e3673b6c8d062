# SPDX-License-Identifier: MIT
"""Builds, runs, checks and counts a CUDA C file on a CPU, without a GPU.

    python -m cusim run FILE.cu

It imports nothing here, because every build starts cusim.rewrite anew.
"""
