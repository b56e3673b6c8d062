# SPDX-License-Identifier: MIT
"""`make test`: pytest with the words of PYTEST=; FAST=1: only the tests of a minute."""

import os
import shlex
import sys

import pytest

try:
    words = shlex.split(os.environ.get("PYTEST", ""))
except ValueError as error:
    sys.exit(f"convlab: PYTEST= is {os.environ['PYTEST']!r}: {error}".lower())
fast = ["-m", "not slow"] if os.environ.get("FAST", "") not in ("", "0") else []
sys.exit(pytest.main([*fast, *words, "tests"]))
