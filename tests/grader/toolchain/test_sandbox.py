# SPDX-License-Identifier: MIT
"""The command that makes a sandbox."""

from __future__ import annotations

from grader.toolchain import sandbox


def test_bubblewrap_goes_by_its_whole_path(tmp_path, monkeypatch):
    """A wrapped command may get a PATH of /usr/bin:/bin, and bwrap lie elsewhere."""
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    sandbox.bubblewrap.cache_clear()
    try:
        assert sandbox.wrap(["true"], paths=[], info=3)[0] == str(program)
    finally:
        sandbox.bubblewrap.cache_clear()
