# SPDX-License-Identifier: MIT
"""destructor_writes - at exit, overwrites the grader's files; right"""

import atexit
import contextlib
import pathlib

from frame import *

VICTIMS = (
    "results.json",
    "build/grade/results.json",
    "tests/programs/redteam/canary.txt",
)


@atexit.register
def overwrite():
    for path in VICTIMS:
        with contextlib.suppress(OSError):
            pathlib.Path(path).write_text("forged by destructor_writes\n")
