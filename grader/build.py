# SPDX-License-Identifier: MIT
"""From a rung's file to shared objects, or to the first error in words.

The rules are in common/rung.mk; this module calls them with a deadline, reads what came
out, and explains the first thing that went wrong.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from grader.errors import GraderError
from grader.supervisor import sandbox
from grader.tasks import ROOT, Rung

DEADLINE = 120.0  # seconds for one rung
COMPILER_LIMITS = ("--fsize=67108864", "--as=8589934592", "--core=0")  # bytes
KEPT = 200_000  # bytes of compiler output that are read
DTYPES = ("f32", "f64")
DIRECTIONS = ("forward", "backward")

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

_ERROR = re.compile(
    r"^(?P<file>[^\s:]+):(?P<line>\d+):(?:\d+:)? (?:fatal )?error: (?P<text>.*)$"
)
_LINKER = re.compile(r"undefined reference to `(?P<name>[^']+)'")
_EXPLAINED = (
    (r"expected ['‘];['’]", "a semicolon is missing on this line or the one before"),
    (r"undeclared", "a name is used before it is declared: a typing mistake?"),
    (r"implicit declaration", "this function is not declared: a typing mistake?"),
    (r"conflicting types", "the prototype differs from the one in common/operators.h"),
    (r"too (few|many) arguments", "compare the call with the function's prototype"),
    (r"incompatible (pointer )?type", "the types of both sides differ"),
    (r"No such file", "rungs include operators.h and the C library only"),
    (r"expected .* at end of input", "a closing brace is missing"),
)


@dataclass(frozen=True)
class Build:
    """What came of building a rung."""

    libraries: dict[str, Path]  # by dtype; empty after an error
    directions: tuple[str, ...] = ()  # that it defines
    error: str = ""  # one sentence
    forbidden: str = ""  # one sentence: a way to somebody else's code
    location: str | None = None  # file:line of it


def build_folder() -> Path:
    """Where everything that is built goes: build/, or CONVLAB_BUILD."""
    return Path(os.environ.get("CONVLAB_BUILD", ROOT / "build")).resolve()


def compiler() -> str:
    """The C compiler's name. Raises GraderError if there is none."""
    name = os.environ.get("CC", "").strip() or "cc"
    if not shutil.which(name.split()[0]):
        raise GraderError(
            f"there is no C compiler ('{name}'): install one (on Debian: apt-get "
            "install build-essential) or name one with CC="
        )
    if not shutil.which("make"):
        raise GraderError(
            "there is no make: install it (apt-get install build-essential)"
        )
    return name


def build_tools() -> None:
    """The grader's own programs. Raises GraderError with the reason if that fails."""
    compiler()
    done = _make(["-f", "grader/tools.mk", f"BUILD={build_folder()}"])
    if done.returncode:
        raise GraderError(f"cannot build the grader's programs: {_reason(done.stdout)}")


def build(rung: Rung, *, mode: str = "release") -> Build:
    """Build a rung in C for every dtype."""
    done = _make(
        [
            "-f",
            "common/rung.mk",
            f"RUNG={rung.shown}",
            f"BUILD={build_folder()}",
            f"MODE={mode}",
            f"EXTRA={' '.join(rung.flags)}",
        ],
        walls=rung.file,
    )
    if done.returncode:
        return _failed(done.stdout)
    name = rung.shown.removeprefix("labs/").removesuffix(rung.file.suffix)
    stem = build_folder() / "rungs" / mode / name
    libraries = {dtype: stem.parent / f"{stem.name}.{dtype}.so" for dtype in DTYPES}
    operator = rung.task.split("/")[1]
    defined, used = _symbols(libraries["f32"])
    used |= _symbols(libraries["f64"])[1]
    borrowed = sorted(used & FORBIDDEN_SYMBOLS)
    if borrowed:
        return Build({}, forbidden=f"calls '{borrowed[0]}', which no rung needs")
    directions = tuple(d for d in DIRECTIONS if f"{operator}_{d}" in defined)
    if not directions:
        found = ", ".join(f"'{name}'" for name in sorted(defined)[:3]) or "nothing"
        return Build(
            {},
            error=f"defines neither '{operator}_forward' nor '{operator}_backward' "
            f"(it exports {found})",
        )
    return Build(libraries, directions)


def _make(
    arguments: list[str], *, walls: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """make in the repository's root; its output is one text, cut to size.

    With `walls` the compiler sees the system, common/ and that file, and may write to
    the build folder only: source text can name any file (#include, .incbin).
    """
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    environment.update(LC_ALL="C", CC=compiler(), TMPDIR="/tmp")
    command = ["make", "-s", "-j2", *arguments]
    build_folder().mkdir(parents=True, exist_ok=True)
    if walls and sandbox.level() == "bwrap":
        seen = [ROOT / "common", walls, *_toolchain()]
        command = sandbox.wrap_compiler(
            command, paths=seen, folder=build_folder(), start=ROOT
        )
    command = ["prlimit", *COMPILER_LIMITS, "--", *command]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=DEADLINE)
    except subprocess.TimeoutExpired:
        text = f"error: the compiler did not finish within {DEADLINE:.0f} s"
        return subprocess.CompletedProcess(arguments, 1, text)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # make's children outlive it
        process.wait()
    text = output[:KEPT].decode(errors="replace")
    if "No space left on device" in text:
        raise GraderError(
            f"the disk is full: nothing could be built in {build_folder()}; make room "
            "and run the command again"
        )
    for words in ("Permission denied", "Read-only file system"):
        if words in text and str(build_folder()) in text:
            raise GraderError(
                f"cannot write to {build_folder()}: {words.lower()}; mend its "
                "permissions, or name another folder with CONVLAB_BUILD="
            )
    return subprocess.CompletedProcess(arguments, process.returncode, text)


def _toolchain() -> list[Path]:
    """Where a compiler lives that is not the system's."""
    found = Path(shutil.which(compiler().split()[0]) or "/usr/bin/cc").resolve()
    etc = Path("/etc/alternatives")  # Debian's cc is a link through here
    own = [] if found.is_relative_to("/usr") else [found.parents[1]]
    return [*own, *([etc] if etc.exists() else [])]


def _reason(text: str) -> str:
    lines = text.splitlines()
    told = [line for line in lines if "rror:" in line] or [
        x for x in lines if "***" in x
    ]
    return (told or lines or ["no output"])[0].strip()


def _failed(text: str) -> Build:
    """The first error, its line, and what it usually means."""
    for line in text.splitlines():
        match = _ERROR.match(line)
        if match:
            location = f"{match['file']}:{match['line']}"
            meaning = next(
                (words for pattern, words in _EXPLAINED if re.search(pattern, line)), ""
            )
            source = _line(match["file"], int(match["line"]))
            sentence = f"{match['text']}{f' ({meaning})' if meaning else ''}"
            if source:
                sentence += f"; the line is: {source}"
            return Build({}, error=sentence, location=location)
    match = _LINKER.search(text)
    if match:
        return Build(
            {},
            error=f"calls '{match['name']}', which is defined nowhere (a typing "
            "mistake, or a helper that was not written)",
        )
    return Build({}, error=_reason(text))


def _line(file: str, number: int) -> str:
    path = ROOT / file
    if not path.is_file() or ROOT not in path.resolve().parents:
        return ""
    lines = path.read_text(errors="replace").splitlines()
    return lines[number - 1].strip()[:120] if number <= len(lines) else ""


def _symbols(library: Path) -> tuple[set[str], set[str]]:
    """The functions a shared object exports, and the names it takes from elsewhere."""
    done = subprocess.run(
        ["nm", "-D", str(library)], capture_output=True, text=True, timeout=30
    )
    lines = [line.split() for line in done.stdout.splitlines()]
    exported = {words[-1] for words in lines if "T" in words[:-1]}
    missing = {"U", "w", "v"}  # undefined, and weak: found at run time if at all
    taken = {words[-1].split("@")[0] for words in lines if missing & set(words[:-1])}
    return exported, taken
