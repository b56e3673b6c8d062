# SPDX-License-Identifier: MIT
"""convlab's own tests: folders mirror what they test; programs and data stand apart.

`python -m tests.proofs.stress` and its like are run from the repository's root, also by
a Python that was not installed for it.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = ROOT / "tests" / "programs"
sys.path[:0] = [str(ROOT / name) for name in ("", "common/python", "grader/python")]


def put(file: Path, text: str = "") -> Path:
    """A file with this text, and the folders it lies in."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file
