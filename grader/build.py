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
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from grader import lines
from grader.errors import GraderError
from grader.supervisor import sandbox
from grader.symbols import FORBIDDEN_SYMBOLS, WATCHING, symbols
from grader.tasks import ROOT, Rung

DEADLINE = 120.0  # seconds for one rung
OUR_DEADLINE = 900.0  # for the grader's own programs, cusim among them
COMPILER_LIMITS = ("--fsize=67108864", "--as=8589934592", "--core=0")  # bytes
KEPT = 200_000  # bytes of compiler output that are read
DTYPES = ("f32", "f64")
DIRECTIONS = ("forward", "backward")
SANITIZE = "sanitize"  # a mode of rung.mk, for float only
TRACE = "trace"  # of lab 04: every access is told to cusim
GPU = "gpu"  # of lab 04: by nvcc, for a real card

# asking for, or switching off, the sanitizers of the memory check; in lower case
HIDING = (
    "no_sanitize",
    "no_address_safety",
    "address_sanitizer",
    "__sanitize",
    "__asan",
    "__ubsan",
    "__has_feature",
    "__optimize__",
    "__no_inline__",
    "__builtin_constant_p",
    "vector_elementwise",
)

_ERROR = re.compile(
    r"^(?P<file>[^\s:]+):(?P<line>\d+):(?:\d+:)? (?:fatal )?error: (?P<text>.*)$"
)
JOINED = re.compile(r"(\\|\?\?/)[ \t]*\n")  # a line that goes on in the next one
_LINKER = re.compile(r"undefined reference to `(?P<name>[^']+)'")
_EXPLAINED = (
    (
        r"expected .*['‘];['’]",
        "a semicolon is missing on this line or at the end of the one before",
    ),
    (r"undeclared", "a name is used before it is declared: a typing mistake?"),
    (r"implicit declaration", "this function is not declared: a typing mistake?"),
    (r"conflicting types", "the prototype differs from the one in common/operators.h"),
    (r"too (few|many) arguments", "compare the call with the function's prototype"),
    (r"incompatible (pointer )?type", "the types of both sides differ"),
    (r"No such file", "rungs include operators.h and the C library only"),
    (r"expected .* at end of input", "a closing brace is missing"),
    (
        r"control reaches end|return-statement|non-void function does not return",
        "a return is missing: an operator ends with return STATUS_OK",
    ),
)


@dataclass(frozen=True)
class Build:
    """What came of building a rung."""

    libraries: dict[str, Path]  # by dtype; empty after an error
    directions: tuple[str, ...] = ()  # that it defines
    error: str = ""  # one sentence
    forbidden: str = ""  # one sentence: a way to somebody else's code
    location: str | None = None  # file:line of it
    wants: tuple[str, ...] = ()  # compiled, but these symbols of its uses are missing
    blocked: str = ""  # one sentence: nothing can serve one of them
    uses: dict[str, str] = field(default_factory=dict)  # alias -> what serves it


def build_folder() -> Path:
    """Where everything that is built goes: build/, or CONVLAB_BUILD.

    Raises GraderError for a path that make would take for two.
    """
    folder = Path(os.environ.get("CONVLAB_BUILD", ROOT / "build")).resolve()
    if re.search(r"\s", str(ROOT)):
        raise GraderError(
            f"this folder's path has a space in it, which make cannot handle: {ROOT}; "
            "move it elsewhere"
        )
    if re.search(r"\s", str(folder)):
        raise GraderError(
            f"the build folder's path has a space in it, which make cannot handle: "
            f"{folder}; name another one with CONVLAB_BUILD="
        )
    return folder


def named_compiler() -> str:
    """The C compiler's name, and perhaps words to call it with: CC, or cc."""
    return os.environ.get("CC", "").strip() or "cc"


def compiler() -> str:
    """The same. Raises GraderError if there is none."""
    name = named_compiler()
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
    done = run_make(["-f", "grader/tools.mk", f"BUILD={build_folder()}"])
    if done.returncode:
        raise GraderError(f"cannot build the grader's programs: {reason(done.stdout)}")


def sanitizers_missing() -> str:
    """Build the worker of the memory check. "" or why there can be none here."""
    folder = f"BUILD={build_folder()}"
    done = run_make(["-f", "grader/tools.mk", folder, "sanitized"])
    if done.returncode:
        return f"{compiler()} has no AddressSanitizer here: {reason(done.stdout)}"
    program = [str(build_folder() / "tools" / "worker-asan")]
    try:
        tried = subprocess.run(program, capture_output=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"a program with AddressSanitizer does not run here: {error}"
    if b"usage: worker" in tried.stderr:
        return ""
    words = reason(tried.stderr.decode(errors="replace"))
    return f"a program with AddressSanitizer does not run here: {words}"


def build(rung: Rung, *, mode: str = "release") -> Build:
    """Build a rung in C for every dtype, with what it uses as results.json knows it."""
    if rung.uses:
        from grader.linking import Links

        return Links().build(rung, mode=mode)
    return compiled(rung, mode=mode)


def compiled(
    rung: Rung, *, mode: str = "release", used: Sequence[str] = (), folder: str = ""
) -> Build:
    """Build a rung with these used objects, each "name=symbol@object" (rung.mk).

    Without them a rung that calls others is compiled only, and `wants` says what for.
    """
    if mode == GPU:
        from grader import gpu

        return gpu.compiled(rung, used=used, folder=folder)
    if rung.needs:
        return Build({}, blocked="needs a GPU: cusim cannot run this rung")
    if rung.file.suffix == ".cu":
        from grader import cuda

        return cuda.compiled(rung, mode=mode, used=used, folder=folder)
    if hidden := hides(rung):
        return Build({}, forbidden=hidden)
    order = [*_order(rung, mode), *([f"FOLDER={folder}"] if folder else [])]
    own = products(rung, folder or mode, "o")["f32"].parent
    done = run_make([*order, "objects"], walls=rung.file, own=own)
    if done.returncode:
        return failed(done.stdout)
    if rung.uses and not used and (wants := wanted(rung, mode)):
        return Build({}, directions_of(rung, objects(rung, mode)), wants=wants)
    # linking sees what is used; the source text is not read any more
    done = run_make([*order, f"USES={' '.join(used)}"], walls=rung.file)
    if done.returncode:
        return failed(done.stdout)
    return judged(rung, products(rung, folder or mode, "so"), mode)


def judged(rung: Rung, libraries: dict[str, Path], mode: str) -> Build:
    """What built libraries take from elsewhere, and which directions they define."""
    operator = rung.task.split("/")[1]
    defined = symbols(libraries["f32"])[0]
    taken = {name for file in libraries.values() for name in symbols(file)[1]}
    borrowed = sorted(taken & FORBIDDEN_SYMBOLS)
    if mode not in (SANITIZE, TRACE):
        borrowed += sorted(name for name in taken if name.startswith(WATCHING))
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


def hides(rung: Rung, words: Sequence[str] = HIDING) -> str:
    """A sentence if the text of a rung asks whether, or that, it is not watched."""
    text = rung.file.read_text(encoding="utf-8", errors="replace").lower()
    text = JOINED.sub("", text)
    found = next((word for word in words if word in text), None)
    return f"says '{found}': a rung is the same in every build" if found else ""


def _order(rung: Rung, mode: str) -> list[str]:
    """What make is told of a rung."""
    order = ["-f", "common/rung.mk", f"RUNG={rung.shown}", f"BUILD={build_folder()}"]
    order += [f"MODE={mode}", f"EXTRA={' '.join(rung.flags)}"]
    return [*order, f"DTYPES={' '.join(_dtypes(mode))}"]


def _dtypes(mode: str) -> tuple[str, ...]:
    """What a mode, or a folder that begins with its name, is built for."""
    return DTYPES[:1] if mode.startswith(SANITIZE) else DTYPES


def products(
    rung: Rung, folder: str, ending: str, dtypes: Sequence[str] = ()
) -> dict[str, Path]:
    """Where rung.mk or cuda.mk puts what it makes of a rung, by dtype."""
    name = rung.shown.removeprefix("labs/").removesuffix(rung.file.suffix)
    stem = build_folder() / "rungs" / folder / name
    return {
        dtype: stem.parent / f"{stem.name}.{dtype}.{ending}"
        for dtype in dtypes or _dtypes(folder)
    }


def objects(rung: Rung, mode: str, *, whole: bool = False) -> dict[str, Path]:
    """Its objects by dtype; `whole`: with those of the rungs it uses inside."""
    if rung.file.suffix == ".cu":
        from grader import cuda

        return cuda.products(rung, cuda.folder_of(mode), "whole" if whole else "o")
    return products(rung, mode, "whole" if whole else "o")


def order_given(rung: Rung, march: str) -> None:
    """Compile a solution as a given object, for old processors too.

    Raises GraderError if that fails: the solution is ours.
    """
    done = run_make(
        [*_order(rung, "given"), f"MARCH={march}", "objects"], walls=rung.file
    )
    if done.returncode:
        raise GraderError(f"cannot build a given object: {reason(done.stdout)}")


def wanted(rung: Rung, mode: str) -> tuple[str, ...]:
    """The functions of its uses that the compiled rung calls."""
    missing: set[str] = set()
    for file in objects(rung, mode).values():
        missing |= symbols(file, dynamic=False)[1]
    declared = (symbol for use in rung.uses for symbol in use.symbols)
    return tuple(symbol for symbol in declared if symbol in missing)


def directions_of(rung: Rung, files: dict[str, Path]) -> tuple[str, ...]:
    """Which directions an object defines."""
    operator = rung.task.split("/")[1]
    defined = symbols(files["f32"], dynamic=False)[0]
    return tuple(d for d in DIRECTIONS if f"{operator}_{d}" in defined)


def run_make(
    arguments: list[str],
    *,
    walls: Path | None = None,
    own: Path | None = None,
    also: Sequence[Path] = (),
) -> subprocess.CompletedProcess[str]:
    """make in the repository's root, behind walls as run_compiler builds them."""
    command = ["make", "-s", "-j2", "--output-sync", *arguments]
    return run_compiler(command, walls=walls, own=own, also=also)


def run_compiler(
    command: list[str],
    *,
    walls: Path | None = None,
    own: Path | None = None,
    also: Sequence[Path] = (),
) -> subprocess.CompletedProcess[str]:
    """A command in the repository's root; its output is one text, cut to size.

    With `walls` the compiler sees the system, common/ and that file, and of the build
    folder `own` alone, if there is one, and `also` these: source text can name any
    file (#include, .incbin). A linker sees the whole build folder and what is given.
    """
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    environment.update(LC_ALL="C", CC=compiler(), TMPDIR="/tmp")
    build_folder().mkdir(parents=True, exist_ok=True)
    if walls and sandbox.level() == "bwrap":
        given = [p for p in [ROOT / "given"] if p.exists() and not own]
        seen = [ROOT / "common", walls, *given, *_toolchain(), *also]
        folder = own or build_folder()
        folder.mkdir(parents=True, exist_ok=True)
        command = sandbox.wrap_compiler(command, paths=seen, folder=folder, start=ROOT)
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
    deadline = DEADLINE if walls else OUR_DEADLINE
    try:
        output, _ = process.communicate(timeout=deadline)
    except subprocess.TimeoutExpired:
        text = f"error: the compiler did not finish within {deadline:.0f} s"
        return subprocess.CompletedProcess(command, 1, text)
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
    return subprocess.CompletedProcess(command, process.returncode, text)


def _toolchain() -> list[Path]:
    """Where a compiler lives that is not the system's."""
    found = Path(shutil.which(compiler().split()[0]) or "/usr/bin/cc").resolve()
    etc = Path("/etc/alternatives")  # Debian's cc is a link through here
    own = [] if found.is_relative_to("/usr") else [found.parents[1]]
    return [*own, *([etc] if etc.exists() else [])]


def reason(text: str) -> str:
    """The line of a tool's output that says most."""
    said = text.splitlines()
    told = [line for line in said if "rror:" in line] or [x for x in said if "***" in x]
    return (told or said or ["no output"])[0].strip()


def failed(text: str, explained: Sequence[tuple[str, str]] = _EXPLAINED) -> Build:
    """The first error, its line, and what it usually means."""
    for line in text.splitlines():
        match = _ERROR.match(line)
        if match:
            location = f"{match['file']}:{match['line']}"
            meaning = next(
                (words for pattern, words in explained if re.search(pattern, line)), ""
            )
            source = lines.line(match["file"], int(match["line"]))[:120]
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
    return Build({}, error=reason(text))
