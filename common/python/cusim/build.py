# SPDX-License-Identifier: MIT
"""Builds a program or a shared object from a .cu file, by common/cusim/cusim.mk.

make decides what is out of date. This module chooses the folders. It lets two builds of
one product take turns, and turns compiler errors into sentences.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cusim.messages import shorten

ROOT = Path(__file__).resolve().parents[3]
MAKEFILE = "common/cusim/cusim.mk"
MODES = ("run", "debug", "check", "trace")
DEADLINE = 300.0  # seconds; the runtime takes twenty on a slow core, a file two
LIMIT = 200_000  # characters of compiler output that are kept


@dataclass(frozen=True)
class Built:
    """What came of a build."""

    path: Path  # the program, or the shared object
    ok: bool
    messages: str  # errors and warnings with their lines, empty if there are none


def build(
    source: Path,
    *,
    mode: str = "run",
    compiler: str = "g++",
    shared: bool = False,
    flags: tuple[str, ...] = (),
    folder: Path | None = None,
) -> Built:
    """Build `source`; `flags` are more -D and -I for it, `folder` is where to.

    Different flags need different folders. Nothing is built twice.
    """
    base = (folder or ROOT / "build" / "cusim").resolve()
    stem = base / f"{_word(compiler)}-{mode}" / _stem(source.resolve())
    path = stem.with_name(stem.name + ".so") if shared else stem
    if not source.is_file():
        return Built(path, ok=False, messages=f"{source}: there is no such file\n")
    runtime = ROOT / "build" / "cusim" / "runtime"
    settings = {
        "SOURCE": _shown(source.resolve()),
        "STEM": str(stem),
        "MODE": mode,
        "KIND": "so" if shared else "exe",
        "CXX": compiler,
        "EXTRA": shlex.join(flags),
        "BUILD": str(runtime),
        "PYTHON": sys.executable,
    }
    with _turn(runtime / "lock"):
        ok, output = _make("runtime", settings)
    if ok:
        with _turn(path.with_name(path.name + ".lock")):
            ok, output = _make("all", settings)
    return Built(path, ok=ok, messages=shorten(output, ROOT) or ("" if ok else output))


@contextmanager
def _turn(lock: Path) -> Iterator[None]:
    """Builds that name the same lock run one after the other."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # given back when the file is closed
        yield


def _make(goal: str, settings: dict[str, str]) -> tuple[bool, str]:
    """Run make; whether it went well, and what was said."""
    command = ["make", "-s", "-j2", "-f", MAKEFILE, goal]
    command += [f"{name}={value}" for name, value in settings.items()]
    environment = dict(os.environ, LC_ALL="C")
    environment.pop("MAKEFLAGS", None)  # of a make above
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=DEADLINE,
            check=False,
        )
    except FileNotFoundError:
        return False, "make is missing: install it (on Debian: apt-get install make)\n"
    except subprocess.TimeoutExpired:
        return False, f"the compiler was stopped after {DEADLINE:.0f} seconds\n"
    return done.returncode == 0, done.stdout.decode(errors="replace")[:LIMIT]


def _stem(source: Path) -> str:
    """A name for what is built of `source`; make takes no spaces in it."""
    if source.is_relative_to(ROOT):
        parts = source.relative_to(ROOT).with_suffix("").parts
    else:
        digest = hashlib.sha256(str(source).encode()).hexdigest()[:8]
        parts = (f"{source.stem}-{digest}",)
    return "/".join(_word(part) for part in parts)


def _shown(source: Path) -> str:
    """The path in diagnostics: from the root of the tree where it is inside."""
    return str(source.relative_to(ROOT) if source.is_relative_to(ROOT) else source)


def _word(text: str) -> str:
    return re.sub(r"[^\w.+-]", "_", text)
