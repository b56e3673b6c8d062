# SPDX-License-Identifier: MIT
"""`python -m grader`: adds the contract to the path, then hands over to cli.py.

Packages that were carried here (carry.py) come last: an environment's own are better.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common" / "python"))
sys.path.append(str(Path(__file__).resolve().parents[1] / "build" / "carried"))

from grader.cli import main

sys.exit(main())
