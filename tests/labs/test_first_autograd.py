# SPDX-License-Identifier: MIT
"""Lab 05's first_autograd.py prints what the README says it prints."""

from __future__ import annotations

import runpy
import textwrap
from types import ModuleType

import pytest

from tests.labs.extension import LAB


def test_the_readme_shows_what_register_autograd_can_and_cannot_do(
    extension: ModuleType, capsys: pytest.CaptureFixture[str]
):
    runpy.run_path(str(LAB / "first_autograd.py"), run_name="__main__")
    parts, table = capsys.readouterr().out.split("\n", 1)
    assert parts == extension.parts()
    assert textwrap.indent(table, "   ") in (LAB / "README.md").read_text()
