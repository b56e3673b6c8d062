# SPDX-License-Identifier: MIT
"""The header that all graphs of torch.compile share."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from grader.course.rungs import ROOT

PROGRAM = """
import sys, torch
from grader.runner.worker.gates.compiled import include
include(sys.argv[1])
torch.compile(lambda x: x * 2)(torch.ones(3))
"""


def test_a_graph_begins_with_the_header_that_is_included(tmp_path: Path) -> None:
    header = tmp_path / "prefix.h"
    header.write_text("#error our header\n")
    paths = os.pathsep.join([str(ROOT), str(ROOT / "common" / "python")])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(header)],
        env={
            **os.environ,
            "PYTHONPATH": paths,
            "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache"),
            "TORCHINDUCTOR_VEC_ISA_OK": "0",
        },
        capture_output=True,
        text=True,
    )
    assert "#error our header" in done.stderr
