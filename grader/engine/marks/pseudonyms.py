# SPDX-License-Identifier: MIT
"""Gives each student of a course another name, for the board that all may see.

Each name is computed with a key. The key stays on the desk, so nobody else can compute
the names.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterable
from pathlib import Path

KEY = "pseudonyms.key"
ANIMALS = (
    *("badger", "beaver", "bison", "condor", "crane", "dolphin", "eagle", "falcon"),
    *("ferret", "gecko", "heron", "ibex", "jackal", "kestrel", "lemur", "lynx"),
    *("marmot", "newt", "ocelot", "otter", "owl", "panda", "puffin", "quail"),
    *("raven", "salmon", "seal", "swan", "tapir", "toucan", "walrus", "zebra"),
)


def pseudonyms(folder: Path, students: Iterable[str]) -> dict[str, str]:
    """The other name of each student of a course; its folder on the desk."""
    file = folder / KEY
    if not file.exists():
        file.write_text(secrets.token_hex(16), encoding="ascii")
    key = file.read_text(encoding="ascii").encode()
    return {student: _name(key, student) for student in students}


def _name(key: bytes, student: str) -> str:
    digest = hmac.digest(key, student.encode("utf-8", "replace"), hashlib.sha256)
    return f"{ANIMALS[digest[0] % len(ANIMALS)]} {digest[1:4].hex()}"
