# SPDX-License-Identifier: MIT
"""Gets from the loader the libraries of the system that a worker in C needs.

A sandbox shows these files and no folders. So student code finds no library there that
could compute for it. Each machine keeps them in other folders, so this machine's loader
lists them. They are for the worker, and for the libraries that rungs are linked with
(nothing.so).
"""

from __future__ import annotations

import functools
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from grader.errors import GraderError

CACHE = Path("/etc/ld.so.cache")  # where the loader looks names up
DEADLINE = 20.0  # seconds

_FOUND = re.compile(r"^\s*(?:\S.* => )?(/.+) \(0x[0-9a-f]+\)$", re.M)


def needed(
    program: Path, also: Sequence[Path], environment: Mapping[str, str]
) -> list[Path]:
    """Every file that the loader opens to start `program` and to load `also` into it.
    Of a program that is not there nothing: it will not start, and be told of.

    Raises GraderError if the loader does not say.
    """
    if not program.exists():
        return []
    stamps = tuple((file, file.stat().st_mtime_ns) for file in (program, *also))
    return list(_asked(stamps, tuple(sorted(environment.items()))))


@functools.lru_cache(maxsize=64)
def _asked(
    stamps: tuple[tuple[Path, int], ...], environment: tuple[tuple[str, str], ...]
) -> tuple[Path, ...]:
    program, *also = (str(file) for file, _ in stamps)
    asking = {**dict(environment), "LD_TRACE_LOADED_OBJECTS": "1"}
    asking["LD_PRELOAD"] = ":".join(also)
    done = subprocess.run(
        [program], env=asking, capture_output=True, text=True, timeout=DEADLINE
    )
    found = [Path(path) for path in _FOUND.findall(done.stdout)]
    if done.returncode or not found:
        said = (done.stderr.splitlines() or ["no reason told"])[0]
        raise GraderError(
            "the system's program loader (ld.so) cannot list the libraries of "
            f"'{Path(program).name}': {said}"
        )
    cache = [CACHE] if CACHE.exists() else []
    return (*found, *cache)
