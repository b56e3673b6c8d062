# SPDX-License-Identifier: MIT
"""Chooses the sandbox that this machine has for a worker, and makes its command.

There are three levels. In each of them the worker also sets its own limits and a system
call filter (limits.h). So even at `none` student code cannot start a process, write a
file or use the network. `landlock` also hides all files that are not needed. `bwrap`
(bubblewrap) also gives separate process numbers, network and mounts.
"""

from __future__ import annotations

import ctypes
import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from grader.errors import GraderError

LEVELS = ("bwrap", "landlock", "none")
ENVIRONMENT = "CONVLAB_SANDBOX"  # forces a level
STRANGER = "CONVLAB_STRANGER"  # "1": what is graded is somebody else's

# where libraries look for what the processor can do; bubblewrap has a /proc of its own
PROCESSOR = ("/proc/cpuinfo", "/sys/devices/system/cpu")

_LANDLOCK_CREATE_RULESET = 444
_NAMESPACES = [
    "--unshare-all",
    "--unshare-user",
    "--die-with-parent",
    "--new-session",
    "--cap-drop",
    "ALL",
]


class SandboxError(GraderError):
    """A level was asked for that this machine does not have; ask for another."""


def has_landlock() -> bool:
    """Whether the kernel offers Landlock."""
    libc: Any = ctypes.CDLL(None, use_errno=True)
    return int(libc.syscall(_LANDLOCK_CREATE_RULESET, None, 0, 1)) >= 1


@functools.cache
def bubblewrap() -> str:
    """Its path; "" if it is not installed. Commands that it wraps have a PATH without
    a person's own folders, so it goes by its whole path.
    """
    return shutil.which("bwrap") or ""


def has_bwrap() -> bool:
    """Whether bubblewrap is installed and may make namespaces here."""
    if not bubblewrap():
        return False
    command = [bubblewrap(), *_NAMESPACES, "--ro-bind", "/", "/", "true"]
    try:
        return subprocess.run(command, capture_output=True, timeout=10).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


@functools.cache
def level() -> str:
    """The strongest level this machine has, or the one CONVLAB_SANDBOX names.

    Raises SandboxError if that one does not exist or does not work here.
    """
    works: dict[str, Callable[[], bool]] = {
        "bwrap": has_bwrap,
        "landlock": has_landlock,
        "none": lambda: True,
    }
    wanted = os.environ.get(ENVIRONMENT)
    if not wanted:
        return next(name for name in LEVELS if works[name]())
    if wanted not in works:
        raise SandboxError(
            f"{ENVIRONMENT} is {wanted!r}, expected one of {', '.join(LEVELS)}"
        )
    if not works[wanted]():
        raise SandboxError(
            f"{ENVIRONMENT} is {wanted!r}, but this sandbox does not work on this "
            "machine; make doctor shows why"
        )
    return wanted


def too_weak() -> str:
    """Why a process that may start compilers runs nobody else's code here; "" if it
    does. Only bubblewrap keeps it, and all that it starts, in a folder of its own.
    """
    if level() == "bwrap":
        return ""
    return (
        "lab 05's checks of the contract cannot run, so their points are pending. The "
        f"sandbox {level()!r} cannot restrict a process that starts compilers. Grade "
        "on a machine with bubblewrap (Debian: apt-get install bubblewrap)"
    )


def python_paths() -> list[Path]:
    """What a Python worker reads: the interpreter, its library, the environment."""
    paths = {Path(sys.base_prefix).resolve(), Path(sys.prefix).resolve()}
    paths.add(Path(sys.prefix))  # an environment behind a link goes by its own name
    return [*sorted(paths), *system_paths()]


def system_paths() -> list[Path]:
    """Where the system keeps programs and libraries. A worker in C sees none of them,
    but single files (loader.py).
    """
    paths = [Path(p) for p in ("/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache")]
    return [path for path in paths if path.exists()]


def _inside(path: Path, folders: list[Path]) -> bool:
    """Seen with another of them already, but perhaps as a link to what is not:
    bubblewrap can bind nothing on a link.
    """
    return any(path != f and path.is_relative_to(f) for f in folders)


def _visible(paths: list[Path]) -> list[str]:
    """Arguments that show each of `paths` under its name, and nothing else. A folder
    that is a link of the root, as /lib is today, stays one.
    """
    links: dict[Path, list[str]] = {}
    binds: list[str] = []
    folders = [path for path in paths if path.is_dir()]
    outer_first = sorted(dict.fromkeys(paths), key=lambda path: len(path.parts))
    for path in outer_first:
        top = Path(*path.parts[:2])
        if top.is_symlink():
            links[top] = ["--symlink", str(top.readlink()), str(top)]
        if path == top and top in links:
            continue
        real = path.resolve()
        if _inside(path, folders):
            place = real
        elif top in links:
            place = top.resolve() / path.relative_to(top)
        else:
            place = path
        binds += ["--ro-bind", str(real), str(place)]
    return [*(word for link in links.values() for word in link), *binds]


def _bwrap(paths: list[Path], devices: Sequence[Path] = ()) -> list[str]:
    """bubblewrap with namespaces of its own; `paths` are read-only, and of the devices
    of this machine only `devices` are there.
    """
    wrapped = [bubblewrap(), *_NAMESPACES, "--uid", "65534", "--gid", "65534"]
    wrapped += ["--size", str(64 << 20), "--tmpfs", "/tmp", *_visible(paths)]
    wrapped += ["--proc", "/proc", "--dev", "/dev"]
    for device in devices:
        wrapped += ["--dev-bind", str(device), str(device)]
    return [*wrapped, "--size", str(1 << 20), "--tmpfs", "/dev/shm"]


def wrap_compiler(
    command: list[str],
    *,
    paths: list[Path],
    folders: Sequence[Path],
    start: Path,
    devices: Sequence[Path] = (),
    in_memory: Mapping[Path, int] = {},
) -> list[str]:
    """The command inside bubblewrap, in `start`, where it may write to `folders`; it
    sees the system and `paths` read-only. Folders `in_memory` hold so many bytes, and
    nobody else sees them.
    """
    made = _bwrap([*system_paths(), *paths], devices)
    for folder, size in in_memory.items():
        made += ["--size", str(size), "--tmpfs", str(folder)]
    for folder in folders:
        made += ["--bind", str(folder), str(folder)]
    return [*made, "--chdir", str(start), "--", *command]


def wrap(
    command: list[str],
    *,
    paths: list[Path],
    info: int,
    devices: Sequence[Path] = (),
) -> list[str]:
    """The command inside bubblewrap, seeing `paths` read-only and nothing else but
    `devices`, which it may use.

    Bubblewrap writes the process numbers as JSON into the descriptor `info`.
    """
    made = [*_bwrap(paths, devices), "--chdir", "/tmp", "--info-fd", str(info)]
    return [*made, "--", *command]
