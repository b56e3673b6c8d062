# SPDX-License-Identifier: MIT
"""Keeps every answer of a grading in one SQLite file, under its key (keys.py).

An answer counts again while its key is the same. Some verdicts say more about the hour
or the machine than about the file (NEVER_AGAIN). They do not count again. Rows are only
added: the newest one with a key is the answer, the others are history.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass, replace
from datetime import datetime
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

from grader.closing import Closing
from grader.errors import GraderError
from grader.verdicts import Verdict

try:
    import sqlite3
except ImportError:  # a Python that was built without SQLite's headers
    sqlite3 = None  # type: ignore[assignment]

NAME = "ledger.sqlite"
CHECKS, SPEED = "checks", "speed"  # kinds of answers: of a rung, of a task
VERSION = 1
KEPT = 50  # rows of one rung or task
NEVER_AGAIN = frozenset(
    str(verdict)
    for verdict in (
        Verdict.TIMEOUT,
        Verdict.LIMIT,
        Verdict.NOISY,
        Verdict.PENDING_GPU,
        Verdict.SKIPPED,
        Verdict.BLOCKED,
        Verdict.GRADER,
    )
)
WITHOUT = (
    "this Python ({}) has no module sqlite3, but the grader needs it to store its "
    "results. Run make without PYTHON=, or name another Python. Or install SQLite's "
    "headers (Debian: libsqlite3-dev) and build this Python again"
)
_TABLES = """
CREATE TABLE IF NOT EXISTS facts (
    content TEXT PRIMARY KEY,  -- keys.content of a rung
    record TEXT NOT NULL       -- directions it defines, symbols it wants of others
);
CREATE TABLE IF NOT EXISTS answers (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,        -- checks of a rung, speed of a task
    name TEXT NOT NULL,        -- its id
    key TEXT NOT NULL,
    sha256 TEXT NOT NULL,      -- of the file
    asked TEXT NOT NULL,       -- forward, gradient; "" for both
    seed INTEGER NOT NULL,
    date TEXT NOT NULL,
    seconds REAL NOT NULL,
    again INTEGER NOT NULL,    -- whether it counts while the key is the same
    record TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS answers_by_key ON answers (kind, name, key);
"""

R = TypeVar("R")


@dataclass(frozen=True)
class Row:
    """One answer as it was kept."""

    id: int  # the newest row has the largest
    kind: str
    name: str
    key: str
    sha256: str
    asked: str
    seed: int
    date: str
    seconds: float
    again: int
    text: str

    @property
    def record(self) -> dict[str, Any]:
        """What was found out."""
        return dict(json.loads(self.text))


class Unreadable(Exception):
    """What lies there is no ledger of this version."""


def counts_again(verdicts: Iterable[str]) -> bool:
    """Whether an answer with these verdicts holds for the next run too."""
    return NEVER_AGAIN.isdisjoint(verdicts)


def _errors_explained(method: Callable[..., R]) -> Callable[..., R]:
    """An error of the database as a sentence for a person."""

    @wraps(method)
    def guarded(self: Ledger, *given: Any, **named: Any) -> R:
        try:
            return method(self, *given, **named)
        except sqlite3.Error as error:
            raise GraderError(_sentence(error, self.path)) from error

    return guarded


def _sentence(error: sqlite3.Error, path: Path) -> str:
    text = str(error)
    if "full" in text:
        return f"the disk is full: cannot write to {path}; make room and try again"
    return (
        f"cannot write to {path}: {text}; fix the permissions of its folder, or name "
        "another folder with CONVLAB_BUILD="
    )


def rename_unreadable(file: Path) -> Path:
    """Give a file that cannot be read another name, so that no run overwrites it."""
    number = 1
    while (
        kept := file.with_name(f"{file.stem}.unreadable-{number}{file.suffix}")
    ).exists():
        number += 1
    return file.rename(kept)


class Ledger(Closing):
    """The ledger of one build folder. Close it when done."""

    def __init__(self, folder: Path, *, write: bool = True) -> None:
        """Opens it, or begins one. Raises GraderError if that cannot be done; `renamed`
        then tells of a file that could not be read and got another name. Not to
        `write`: one that is there, as it is.
        """
        self.path, self.renamed = folder / NAME, ""
        if sqlite3 is None:
            raise GraderError(WITHOUT.format(sys.executable))
        try:
            self._open() if write else self._read()
        except (Unreadable, sqlite3.DatabaseError) as error:
            if isinstance(error, sqlite3.OperationalError):
                raise GraderError(_sentence(error, self.path)) from error
            self.renamed = self._set_aside(str(error))
            self._open_new()

    def _open(self) -> None:
        self._base = sqlite3.connect(self.path, timeout=20, isolation_level=None)
        try:
            (version,) = self._base.execute("PRAGMA user_version").fetchone()
            tables = self._base.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if version != VERSION and tables != (0,):
                raise Unreadable(
                    f"its version is {version}, but this grader needs version {VERSION}"
                )
            self._base.execute("PRAGMA journal_mode = WAL")
            self._base.execute("PRAGMA synchronous = NORMAL")
            self._base.executescript(_TABLES)
            self._base.execute(f"PRAGMA user_version = {VERSION}")
            (sound,) = self._base.execute("PRAGMA quick_check(1)").fetchone()
            if sound != "ok":
                raise Unreadable(str(sound).splitlines()[0])
        except BaseException:
            self._base.close()
            raise

    def _read(self) -> None:
        place = f"{self.path.resolve().as_uri()}?mode=ro"
        self._base = sqlite3.connect(place, uri=True)

    def _open_new(self) -> None:
        try:
            self._open()
        except sqlite3.Error as error:
            raise GraderError(_sentence(error, self.path)) from error

    def _set_aside(self, reason: str) -> str:
        try:
            kept = rename_unreadable(self.path)
            for ending in ("-wal", "-shm"):
                beside = Path(f"{self.path}{ending}")
                if beside.exists():
                    beside.rename(f"{kept}{ending}")
        except OSError as error:
            raise GraderError(f"cannot rename {self.path}: {error}") from error
        return (
            f"{self.path.name} cannot be read ({reason}); it is kept as {kept.name} in "
            "the same folder, and every check runs again"
        )

    def close(self) -> None:
        """Write back what is still in the log."""
        self._base.close()

    # ---- facts -----------------------------------------------------------------------

    @_errors_explained
    def facts(self, content: str) -> dict[str, Any] | None:
        """What compiling this content has told; None if nobody has compiled it."""
        words = "SELECT record FROM facts WHERE content = ?"
        found = self._base.execute(words, (content,)).fetchone()
        return None if found is None else dict(json.loads(found[0]))

    @_errors_explained
    def keep_facts(self, content: str, record: Mapping[str, Any]) -> None:
        """What compiling has told."""
        words = "INSERT OR REPLACE INTO facts VALUES (?, ?)"
        self._base.execute(words, (content, json.dumps(record)))

    # ---- answers ---------------------------------------------------------------------

    @_errors_explained
    def answer(self, kind: str, name: str, key: str, asked: str = "") -> Row | None:
        """The newest answer with this key that counts again; one to everything also
        answers a part.
        """
        where = "kind = ? AND name = ? AND key = ? AND asked IN (?, '') AND again"
        found = self._rows(where, (kind, name, key, asked), limit=1)
        return found[0] if found else None

    @_errors_explained
    def rows(self, kind: str, name: str, sha256: str = "") -> list[Row]:
        """All answers about a file with these contents, whatever they say, the newest
        first.
        """
        where = "kind = ? AND name = ? AND sha256 = ?"
        return self._rows(where, (kind, name, sha256))

    @_errors_explained
    def history(self) -> Iterator[Row]:
        """All answers, in the order in which they came."""
        for found in self._base.execute("SELECT * FROM answers ORDER BY id"):
            yield Row(*found)

    @_errors_explained
    def seconds(self) -> dict[str, float]:
        """How long each rung took when it was last asked."""
        words = "SELECT name, seconds FROM answers WHERE kind = 'checks' ORDER BY id"
        return dict(self._base.execute(words).fetchall())

    def _rows(
        self, where: str, values: tuple[str, ...], limit: int = KEPT
    ) -> list[Row]:
        words = f"SELECT * FROM answers WHERE {where} ORDER BY id DESC LIMIT {limit}"
        return [Row(*found) for found in self._base.execute(words, values)]

    @_errors_explained
    def renew(self, row: Row, asked: str = "") -> None:
        """An answer that holds once more is the newest again, of what was `asked`."""
        words = "SELECT max(id) FROM answers WHERE kind = ? AND name = ? AND sha256 = ?"
        values = row.kind, row.name, row.sha256
        if self._base.execute(words, values).fetchone() != (row.id,):
            self._add(replace(row, asked=asked))

    @_errors_explained
    def keep(
        self,
        kind: str,
        name: str,
        key: str,
        record: Mapping[str, Any],
        *,
        verdicts: Iterable[str],
        sha256: str = "",
        asked: str = "",
        seed: int,
        seconds: float = 0.0,
    ) -> None:
        """Add an answer, and forget the oldest of its name."""
        date = datetime.now().astimezone().isoformat(timespec="seconds")
        again = counts_again(verdicts)
        text = json.dumps(record)
        words = kind, name, key, sha256, asked, seed, date, seconds, again, text
        self._add(Row(0, *words))

    def _add(self, row: Row) -> None:
        columns = astuple(row)[1:]
        kind, name = row.kind, row.name
        self._base.execute("BEGIN IMMEDIATE")
        try:
            places = ", ".join("?" * len(columns))
            self._base.execute(f"INSERT INTO answers VALUES (NULL, {places})", columns)
            self._base.execute(
                "DELETE FROM answers WHERE kind = ? AND name = ? AND id NOT IN (SELECT "
                "id FROM answers WHERE kind = ? AND name = ? ORDER BY id DESC LIMIT ?)",
                (kind, name, kind, name, KEPT),
            )
            self._base.execute("COMMIT")
        except BaseException:
            if self._base.in_transaction:  # a full disk has ended it already
                self._base.execute("ROLLBACK")
            raise
