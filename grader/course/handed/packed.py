# SPDX-License-Identifier: MIT
"""Packs a tree as an archive: the same tree and the same time give the same bytes."""

from __future__ import annotations

import gzip
import io
import tarfile
import time
import zipfile
from pathlib import Path

OLDEST = 315532800  # 1980, when the times of zip begin


def files(tree: Path, below: str) -> dict[str, Path]:
    """The names in an archive, all below one folder, and the files of a tree."""
    found = sorted(file for file in tree.rglob("*") if file.is_file())
    prefix = f"{below}/" if below else ""
    return {f"{prefix}{file.relative_to(tree)}": file for file in found}


def tar(members: dict[str, Path], epoch: int) -> bytes:
    """Not compressed."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, file in members.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime = file.stat().st_size, epoch
            entry.mode = _mode(file)
            with file.open("rb") as data:
                archive.addfile(entry, data)
    return packed.getvalue()


def tar_gz(members: dict[str, Path], epoch: int) -> bytes:
    """Compressed."""
    return gzip.compress(tar(members, epoch), mtime=epoch)


def zipped(members: dict[str, Path], epoch: int) -> bytes:
    """The same as a zip."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, file in members.items():
            info = zipfile.ZipInfo(name)
            info.date_time = time.gmtime(epoch)[:6]
            info.compress_type, info.create_system = zipfile.ZIP_DEFLATED, 3
            info.external_attr = (0o100000 | _mode(file)) << 16
            archive.writestr(info, file.read_bytes())
    return packed.getvalue()


def _mode(file: Path) -> int:
    return 0o755 if file.stat().st_mode & 0o100 else 0o644
