# SPDX-License-Identifier: MIT
"""Encrypts solutions with one key for each task; the instructor gives it out later.

Fernet (the package cryptography) is AES-128 in CBC mode with an HMAC. So both a wrong
key and a changed file are noticed.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from grader.errors import GraderError

ARCHIVE = "convlab-solutions.zip"
KEYS = "solution-keys.txt"  # for the instructor alone
ENDING = ".sealed"
WITHOUT = (
    "sealed solutions need the package cryptography: leave out PYTHON=, or install it "
    "into your environment (pip install cryptography)"
)


def seal(files: Mapping[str, bytes]) -> tuple[bytes, str]:
    """Files of a task as one locked block, and its new key. Raises GraderError."""
    try:
        from cryptography.fernet import Fernet
    except ImportError as error:
        raise GraderError(WITHOUT) from error
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, contents in files.items():
            archive.writestr(name, contents)
    key = Fernet.generate_key()
    return Fernet(key).encrypt(packed.getvalue()), key.decode()


def unseal(block: bytes, key: str) -> dict[str, bytes]:
    """The files again. Raises GraderError if the key is another one."""
    try:
        from cryptography.fernet import Fernet, InvalidToken
    except ImportError as error:
        raise GraderError(WITHOUT) from error
    try:
        packed = Fernet(key.strip().encode()).decrypt(block)
    except (InvalidToken, ValueError) as error:
        raise GraderError(
            "KEY= does not open this task's solutions. Each task has its own key: 44 "
            "characters that end with '='. Copy the whole key"
        ) from error
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        return {name: archive.read(name) for name in archive.namelist() if _plain(name)}


def _plain(name: str) -> bool:
    return ".." not in PurePosixPath(name).parts and not name.startswith("/")


def block(archive: Path, task: str) -> bytes:
    """A task's locked block. Raises GraderError where it cannot be had."""
    try:
        with zipfile.ZipFile(archive) as packed:
            return packed.read(file_of(task))
    except FileNotFoundError as error:
        raise GraderError(
            f"there is no {archive}: ask your instructor for it, and name it with FROM="
        ) from error
    except (OSError, zipfile.BadZipFile) as error:
        raise GraderError(f"{archive} cannot be read: {error}; get it again") from error
    except KeyError as error:
        raise GraderError(
            f"{archive} has no solutions of {task}: ask your instructor for another one"
        ) from error


def file_of(task: str) -> str:
    """Its name in the archive."""
    return f"{task.replace('/', '-')}{ENDING}"
