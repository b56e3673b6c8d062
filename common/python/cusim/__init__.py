# SPDX-License-Identifier: MIT
"""CUDA C on a CPU: build, run, check and count a .cu file without a GPU.

    python -m cusim run FILE.cu

Imports nothing here, because every build starts cusim.rewrite anew.
"""
