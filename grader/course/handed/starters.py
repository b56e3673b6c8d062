# SPDX-License-Identifier: MIT
"""Reads given/starters.zip: the files that students change, as the handout had them.

`make reset` restores one of them, and `make update` compares them with a student's
files.
"""

from __future__ import annotations

import shutil
import zipfile
from datetime import datetime
from pathlib import Path

ARCHIVE = "given/starters.zip"
KEPT = "kept"  # a folder at the root: copies of files that a command replaces
BEGIN = (1980, 1, 1, 0, 0, 0)  # the same files make the same archive


def pack(root: Path, names: list[str]) -> None:
    """Write the archive of these files of a tree."""
    (root / ARCHIVE).parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(root / ARCHIVE, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(names):
            info = zipfile.ZipInfo(name, BEGIN)
            info.compress_type, info.create_system = zipfile.ZIP_DEFLATED, 3
            archive.writestr(info, (root / name).read_bytes())


def read(root: Path) -> dict[str, bytes]:
    """Path -> contents; empty where there is no archive."""
    if not (root / ARCHIVE).is_file():
        return {}
    with zipfile.ZipFile(root / ARCHIVE) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def keep(root: Path, name: str) -> str:
    """Copy a file aside; where to, from the root."""
    stamp = datetime.now().astimezone().strftime("%Y-%m-%d_%H-%M-%S")
    folder = root / KEPT / stamp
    number = 1
    while (folder / name).exists():
        number += 1
        folder = root / KEPT / f"{stamp}_{number}"
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(root / name, folder / name)
    return str((folder / name).relative_to(root))
