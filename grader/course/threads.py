# SPDX-License-Identifier: MIT
"""Reads in a rung's text whether it starts threads, and what it promises about them."""

from __future__ import annotations

import re

from grader.course.rungs import Rung

_OPENMP = re.compile(rb"\bomp\b")
_STARTS = re.compile(rb"\bomp\b|->\s*threads\b|\b(?:pthread|thrd)_create\b")
_PROMISES = re.compile(rb"bit[\s*]+for[\s*]+bit")  # also over a line's end


def starts_threads(rung: Rung) -> bool:
    """Whether it uses OpenMP, starts threads itself, or asks how many there are."""
    return bool(_STARTS.search(rung.file.read_bytes()))


def uses_openmp(rung: Rung) -> bool:
    """Whether it says `omp` at all."""
    return bool(_OPENMP.search(rung.file.read_bytes()))


def promises_bits(rung: Rung) -> bool:
    """Whether its comments promise the same result for any number of threads."""
    return bool(_PROMISES.search(rung.file.read_bytes()))
