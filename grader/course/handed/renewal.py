# SPDX-License-Identifier: MIT
"""Brings a student's tree up to a newer handout, without losing the student's work.

Three trees are compared: the starters of the old handout (`old`), the student's files
now, and the new handout. If the student did not change a file, the new handout's file
replaces it. If only the student changed it, it stays. If both changed it, the two are
merged line by line. If that is impossible, the student's file stays.
"""

from __future__ import annotations

import hashlib
import io
import tarfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from grader.course.handed import starters
from grader.errors import GraderError

MANIFEST = "MANIFEST"
BESIDE = ".merged"  # a file with conflicts, beside the student's own


@dataclass
class Report:
    """What was done, for people."""

    replaced: int = 0
    removed: int = 0
    merged: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    kept: list[tuple[str, str]] = field(default_factory=list)  # file, its copy


def unpacked(archive: Path) -> dict[str, tuple[bytes, bool]]:
    """Path below the handout's root -> contents, and whether it may be run.

    Raises GraderError for a file that is no handout, or was damaged on its way.
    """
    try:
        found = _members(archive)
    except (OSError, zipfile.BadZipFile, tarfile.TarError, EOFError) as error:
        raise GraderError(
            f"{archive} cannot be read as a .zip or .tar.gz: {error}; download it again"
        ) from error
    listed = dict(_manifest(found[MANIFEST][0])) if MANIFEST in found else {}
    if not listed or starters.ARCHIVE not in found:
        raise GraderError(
            f"{archive} is not a handout of convlab: a handout contains the files "
            f"{MANIFEST} and {starters.ARCHIVE}"
        )
    for name, digest in listed.items():
        if hashlib.sha256(found.get(name, (b"", False))[0]).hexdigest() != digest:
            raise GraderError(
                f"{archive}: {name} differs from {MANIFEST}; download the archive again"
            )
    return {name: found[name] for name in (*listed, MANIFEST)}


def _members(archive: Path) -> dict[str, tuple[bytes, bool]]:
    data = archive.read_bytes()
    found: dict[str, tuple[bytes, bool]] = {}
    if zipfile.is_zipfile(io.BytesIO(data)):
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            for info in packed.infolist():
                if not info.is_dir():
                    mode = info.external_attr >> 16
                    found[info.filename] = packed.read(info), bool(mode & 0o100)
    else:
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            for member in tar:
                file = tar.extractfile(member) if member.isfile() else None
                if file:
                    found[member.name] = file.read(), bool(member.mode & 0o100)
    return {_below(name): value for name, value in found.items()}


def _below(name: str) -> str:
    """A member's path without the archive's one folder. Raises GraderError for one that
    leads elsewhere.
    """
    parts = PurePosixPath(name).parts
    if len(parts) < 2 or ".." in parts or name.startswith("/"):
        raise GraderError(
            f"the archive has a file {name!r}, so it is not a handout; download the "
            "handout again"
        )
    return str(PurePosixPath(*parts[1:]))


def _manifest(text: bytes) -> list[tuple[str, str]]:
    lines = text.decode(errors="replace").splitlines()
    pairs = (line.split("  ", 1) for line in lines if "  " in line)
    return [(name, digest) for digest, name in pairs]


def handed_out(root: Path) -> dict[str, str]:
    """The files of a handout with the hashes that they had; none in another tree."""
    file = root / MANIFEST
    return dict(_manifest(file.read_bytes())) if file.is_file() else {}


def renew(root: Path, new: Mapping[str, tuple[bytes, bool]]) -> Report:
    """Bring a tree up to a new handout. Nothing is lost: whatever the student changed
    and a new file replaces has a copy.
    """
    report = Report()
    base = starters.read(root)
    before = handed_out(root)
    with zipfile.ZipFile(io.BytesIO(new[starters.ARCHIVE][0])) as archive:
        theirs = {name: archive.read(name) for name in archive.namelist()}
    for name, (contents, runs) in new.items():
        if name in theirs and (root / name).exists():
            _student_file(root, name, base.get(name), contents, report)
        else:
            _ours(root, name, contents, runs, before.get(name), report)
    for name in before.keys() - new.keys():
        _gone(root, name, before[name], report)
    return report


def _student_file(
    root: Path, name: str, base: bytes | None, theirs: bytes, report: Report
) -> None:
    """A file that students write in."""
    mine = (root / name).read_bytes()
    if mine == theirs or base == theirs:
        return
    if mine == base:
        _write(root / name, theirs)
        report.replaced += 1
        return
    made, clean = _merged(base or b"", mine, theirs)
    if not clean:
        _write(root / f"{name}{BESIDE}", made)
        report.conflicts.append(name)
        return
    report.kept.append((name, starters.keep(root, name)))
    _write(root / name, made)
    report.merged.append(name)


def _merged(base: bytes, mine: bytes, theirs: bytes) -> tuple[bytes, bool]:
    """Both changes in one text, and whether they touch different lines."""
    from merge3 import Merge3

    old, own, new = (text.splitlines(keepends=True) for text in (base, mine, theirs))
    merge = Merge3(old, own, new)
    clean = all(kind != "conflict" for kind, *_ in merge.merge_groups())
    lines = merge.merge_lines(
        name_a=b"yours",
        name_b=b"new handout",
        start_marker=b"<<<<<<<",
        mid_marker=b"=======",
        end_marker=b">>>>>>>",
    )
    return b"".join(lines), clean


def _ours(
    root: Path,
    name: str,
    contents: bytes,
    runs: bool,
    before: str | None,
    report: Report,
) -> None:
    """A file that is not the student's; a change of it has a copy."""
    file = root / name
    if file.is_file():
        now = file.read_bytes()
        if now == contents:
            return
        if name != MANIFEST and hashlib.sha256(now).hexdigest() != before:
            report.kept.append((name, starters.keep(root, name)))
    _write(file, contents)
    file.chmod(0o755 if runs else 0o644)
    report.replaced += 1


def _gone(root: Path, name: str, before: str, report: Report) -> None:
    """A file that the new handout has no more: one that was changed has a copy."""
    file = root / name
    if not file.is_file():
        return
    if hashlib.sha256(file.read_bytes()).hexdigest() != before:
        report.kept.append((name, starters.keep(root, name)))
    file.unlink()
    report.removed += 1


def _write(file: Path, contents: bytes) -> None:
    """Whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_name(f".{file.name}.new")
    new.write_bytes(contents)
    new.replace(file)
