# SPDX-License-Identifier: MIT
"""`make docs`: the editions that EDITION= names, both without a word."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PATHS = (ROOT, ROOT / "common" / "python", ROOT / "grader" / "python")
sys.path[:0] = map(str, PATHS)

from docs.book.build import main  # noqa: E402
from grader.errors import GraderError  # noqa: E402
from grader.options import several  # noqa: E402

try:
    sys.exit(main(several("EDITION", os.environ.get("EDITION", ""))))
except GraderError as error:
    print(f"convlab: {error}", file=sys.stderr)
    sys.exit(1)
