# SPDX-License-Identifier: MIT
"""A product is made once and is whole: the lock, the folder beside it, the rename."""

from __future__ import annotations

import errno
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from grader import once
from tests import ROOT, put
from tests.conftest import raising


def written(text: str):
    return lambda new: new.write_text(text)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_was_made_of_the_same_is_not_made_again(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "file"
    once.made(file, of="1", make=written("one"))
    once.made(file, of="1", make=raising(AssertionError()))
    assert file.read_text() == "one"
    once.made(file, of="2", make=written("two"))
    assert file.read_text() == "two"


@pytest.mark.parametrize("change", [Path.unlink, lambda file: file.write_text("x" * 9)])
def test_what_somebody_has_changed_is_made_again(tmp_path: Path, change) -> None:
    file = tmp_path / "file"
    once.made(file, of="1", make=written("one"))
    change(file)
    once.made(file, of="1", make=written("one"))
    assert file.read_text() == "one"


def test_after_an_error_the_product_is_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "file"
    once.made(file, of="1", make=written("one"))
    with pytest.raises(KeyError), once.placed(file) as new:
        new.write_text("two")
        raise KeyError
    assert file.read_text() == "one" and names(tmp_path) == [".file.lock", "file"]


def test_the_same_bytes_keep_their_date(tmp_path: Path) -> None:
    file = tmp_path / "file"
    once.made(file, of="1", make=written("one"))
    before = file.stat()
    once.made(file, of="2", make=written("one"))
    assert file.stat().st_ino == before.st_ino


@pytest.mark.parametrize("exchanges", [True, False])
def test_a_folder_takes_the_place_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exchanges: bool
) -> None:
    if not exchanges:
        monkeypatch.setattr(once, "_exchanged", lambda *_: False)
    folder = tmp_path / "folder"
    for name in ("old", "new"):
        with once.placed(folder) as new:
            put(new / name)
    assert names(folder) == ["new"] and names(tmp_path) == [".folder.lock", "folder"]


def test_a_rename_that_fails_for_another_reason_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "rename", raising(OSError(errno.EIO, "broken")))
    with pytest.raises(OSError, match="broken"), once.placed(tmp_path / "file") as new:
        new.write_text("x")


def test_what_a_killed_maker_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    """One maker is killed, another one is still at work."""
    put(tmp_path / "kept" / "file.making")
    put(tmp_path / "kept" / ".folder" / "file")
    program = (
        "import os, signal, pathlib, sys\nfrom grader import once\n"
        "with once.placed(pathlib.Path(sys.argv[1])) as new:\n"
        "    new.write_text('half')\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    killed = tmp_path / "a" / "killed"
    subprocess.run([sys.executable, "-c", program, killed], cwd=ROOT, timeout=60)
    assert (tmp_path / "a" / ".killed.making" / "killed").read_text() == "half"
    with once.placed(tmp_path / "a" / "made") as new:
        new.write_text("whole")
        once.sweep(tmp_path)
    assert names(tmp_path / "a") == [".killed.lock", ".made.lock", "made"]
    assert names(tmp_path / "kept") == [".folder", "file.making"]


def test_threads_wait_for_each_other(tmp_path: Path) -> None:
    inside, most = 0, 0

    def make(new: Path) -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        new.write_text("x")
        inside -= 1

    def ask(number: int) -> None:
        once.made(tmp_path / "file", of=str(number), make=make)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(ask, range(16)))
    assert most == 1
