# SPDX-License-Identifier: MIT
"""A product of a build is made only once, and other processes see all of it or nothing.

    once.made(file, of=hash_of_the_sources, make=lambda new: link(objects, new))

Each product has its own lock. Under this lock the product is made in a temporary
folder beside its final path. One rename then puts it there. If make updates a product
step by step, the product stays in its folder, and `alone` is only the lock. Locks are
called .NAME.lock, folders .NAME.making. If a process was killed, `sweep` removes its
folders and locks.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import filecmp
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TextIO

MAKING = ".making"
LOCK = ".lock"
_HERE, _EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux


@contextlib.contextmanager
def alone(product: Path) -> Iterator[TextIO]:
    """While another process or thread is inside for the same product, wait. Yields the
    lock's file.
    """
    product.parent.mkdir(parents=True, exist_ok=True)
    with _beside(product, LOCK).open("a+", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # given back when the file is closed
        yield lock


@contextlib.contextmanager
def placed(product: Path) -> Iterator[Path]:
    """A path to make a file or a folder at, which then takes the product's place. After
    an error the product is as it was.
    """
    with alone(product), _fresh(product) as new:
        yield new


def made(product: Path, *, of: str, make: Callable[[Path], None]) -> None:
    """Have a product made at the path that `make` is given, unless it is there as it
    was left and was made `of` the same.
    """
    with alone(product) as lock:
        lock.seek(0)
        if lock.read() == f"{of} {_stamp(product)}":
            return
        with _fresh(product) as new:
            make(new)
        lock.truncate(0)
        lock.write(f"{of} {_stamp(product)}")


def sweep(folder: Path) -> None:
    """Remove what makers that were killed left in a folder and those below it."""
    for parent, folders, _ in os.walk(folder):
        for name in [name for name in folders if name.endswith(MAKING)]:
            folders.remove(name)
            product = Path(parent) / name.removeprefix(".").removesuffix(MAKING)
            with contextlib.suppress(BlockingIOError), _untaken(product):
                shutil.rmtree(Path(parent) / name, ignore_errors=True)


@contextlib.contextmanager
def _untaken(product: Path) -> Iterator[None]:
    """The product's lock. Raises BlockingIOError if somebody makes it now."""
    with _beside(product, LOCK).open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield


@contextlib.contextmanager
def _fresh(product: Path) -> Iterator[Path]:
    """The path in a temporary folder. The caller has the lock."""
    work = _beside(product, MAKING)
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    try:
        yield work / product.name
        _put(work / product.name, product)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _put(new: Path, product: Path) -> None:
    """Give what is new its place. A file with the same bytes keeps its date: nothing
    that is made of it has to be made again.
    """
    if product.is_file() and filecmp.cmp(new, product, shallow=False):
        return
    try:
        new.rename(product)
    except OSError as error:  # a folder takes the place of an empty one only
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        if not _exchanged(new, product):
            product.rename(new.with_suffix(".old"))
            new.rename(product)


def _exchanged(one: Path, other: Path) -> bool:
    """Whether two folders have changed places in one step: not all file systems can."""
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "renameat2"):
        return False
    words = _HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE
    return int(libc.renameat2(*words)) == 0


def _beside(product: Path, ending: str) -> Path:
    return product.with_name(f".{product.name}{ending}")


def _stamp(product: Path) -> str:
    """What changes when somebody changes a product; "" if there is none."""
    try:
        found = product.stat()
    except OSError:
        return ""
    return f"{found.st_mtime_ns} {found.st_size}"
