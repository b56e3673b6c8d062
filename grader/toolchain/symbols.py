# SPDX-License-Identifier: MIT
"""Lists the functions that a built file exports and imports; some are forbidden."""

from __future__ import annotations

import functools
import struct
import subprocess
from collections.abc import Iterable
from pathlib import Path

from grader.toolchain.scan import elf

# loading or starting other code: the way to a library's own operator
FORBIDDEN_SYMBOLS = frozenset(
    [
        "dlopen",
        "dlmopen",
        "dlsym",
        "dlvsym",
        "system",
        "popen",
        "execv",
        "execve",
        "execvp",
        "execl",
        "posix_spawn",
        "posix_spawnp",
        "execle",
        "execlp",
        "execvpe",
        "fexecve",
    ]
)
OPENMP = ("GOMP_", "GOACC_", "omp_", "__kmpc_")  # how names of its functions begin
_TEAMS = ("GOMP_", "GOACC_", "__kmpc_", "omp_get_", "omp_set_", "omp_in_parallel")
_ELF = b"\x7fELF\x02\x01"  # of 64 bits, the lowest byte first
WATCHING = (
    "__asan_",
    "__ubsan_",
    "__sanitizer_",
    "__tsan_",
)  # symbols, in no release build


def symbols(file: Path, *, dynamic: bool = True) -> tuple[set[str], set[str]]:
    """The functions a library exports (not `dynamic`: an object or an archive), and the
    names it takes from elsewhere. Asked again only if the file has changed.
    """
    exported, taken, *_ = _symbols_of(file, dynamic=dynamic)
    return exported, taken


def weak(file: Path) -> set[str]:
    """The names that a library takes from elsewhere if they are there."""
    return _symbols_of(file, dynamic=True)[2]


def named(file: Path) -> set[str]:
    """All names in a file that was not stripped, those that it keeps to itself too."""
    return _symbols_of(file, dynamic=False)[3]


def openmp_of_its_own(files: Iterable[Path]) -> str:
    """A function of OpenMP that a library brings itself; "" if it brings none. Threads
    that it would start are watched by nobody.
    """
    brought = set()
    for file in files:
        every = {name.split("@")[0] for name in named(file)}  # without a version
        brought |= every - symbols(file, dynamic=False)[1]
    return min((name for name in brought if name.startswith(_TEAMS)), default="")


def _symbols_of(file: Path, *, dynamic: bool) -> tuple[set[str], ...]:
    try:
        now = file.stat()
    except OSError:
        return set(), set(), set(), set()
    return _read(file, dynamic, now.st_mtime_ns, now.st_size, now.st_ino)


@functools.lru_cache(maxsize=1024)
def _read(file: Path, dynamic: bool, *_: int) -> tuple[set[str], ...]:
    data = file.read_bytes()
    if data.startswith(_ELF):
        try:
            return elf.names(data, dynamic=dynamic)
        except (struct.error, IndexError, ValueError):
            pass  # it is cut off or made by hand: see what binutils says
    return _nm(file, dynamic)


def _nm(file: Path, dynamic: bool) -> tuple[set[str], ...]:
    """The same of an archive."""
    command = ["nm", *(["-D"] if dynamic else []), str(file)]
    done = subprocess.run(command, capture_output=True, timeout=30)
    text = done.stdout.decode(errors="replace")  # a name may be any bytes
    rows = [line.split(" ") for line in text.split("\n") if line]
    exported = {words[-1] for words in rows if "T" in words[:-1]}
    # undefined, and weak: found at run time if at all
    wanted, asked = (
        {words[-1].split("@")[0] for words in rows if kinds & set(words[:-1])}
        for kinds in ({"U"}, {"w", "v"})
    )
    return exported, wanted | asked, asked, {words[-1] for words in rows}
