# SPDX-License-Identifier: MIT
"""The command that makes a sandbox."""

from __future__ import annotations

from pathlib import Path

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


def test_a_card_is_all_that_a_worker_sees_of_the_devices():
    wrapped = sandbox.wrap(["true"], paths=[], info=3, devices=[Path("/dev/nvidia0")])
    at = wrapped.index("--dev-bind")
    assert wrapped[at + 1 : at + 3] == ["/dev/nvidia0", "/dev/nvidia0"]
    assert wrapped.index("--dev") < at  # which would hide it again
    assert "--dev-bind" not in sandbox.wrap(["true"], paths=[], info=3)
