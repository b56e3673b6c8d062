# SPDX-License-Identifier: MIT
"""constructor_forges - writes a perfect results.json while it is loaded, and ends"""

import contextlib
import json
import os
import pathlib

from frame import *

CHECK = {"name": "forward", "verdict": "PASS", "cases": 14, "failed": 0}
RUNG = {"id": "01_python_function/matmul/00", "checks": [CHECK]}
TASK = {"id": "01_python_function/matmul", "points": 100, "pending": 0, "of": 100}
SUM = {"schema": 1, "seed": 7, "points": 100, "pending": 0, "of": 100}
FORGED = SUM | {"tasks": [TASK | {"rungs": [RUNG]}]}

with contextlib.suppress(OSError):
    pathlib.Path("build/grade/results.json").write_text(json.dumps(FORGED))
os._exit(0)
