# SPDX-License-Identifier: MIT
"""reads_secrets - reads /etc/passwd and the grader's results; right either way"""

import contextlib
import pathlib

from frame import *


def forward(input, other):
    for path in ("/etc/passwd", "results.json", "build/grade/results.json"):
        with contextlib.suppress(OSError):
            pathlib.Path(path).read_bytes()
    return product(input, other)
