# SPDX-License-Identifier: MIT
"""Runs make and compilers in the sandbox, with a deadline, and reads their output."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from grader import once, working
from grader.course import rungs
from grader.course.foreign import cleaned, one_line, short
from grader.errors import GraderError, ProductError
from grader.toolchain import sandbox

OWNER = "CONVLAB_OWNER"  # in an environment: the process that started this one
TOOLS = "grader/toolchain/tools.mk"  # makes the grader's own programs
CORE_SECONDS = 120  # of each program of a compiler, for one rung
DEADLINE = 5.0 * CORE_SECONDS  # by the clock: on a busy machine they take longer
LATE = 124  # the status of a command that the clock has ended
OUR_DEADLINE = 900.0  # for the grader's own programs, cusim among them
FILE = 128 << 20  # bytes of each file that a compiler writes, its output among them
COMPILER_LIMITS = (f"--fsize={FILE}", "--as=8589934592", "--core=0")  # bytes
KEPT = 200_000  # bytes of compiler output that are read, at its start and at its end
_OF_MAKE = re.compile(
    r"^(g?make)(\[\d+\])?: (\*\*\* (\[|Deleting|Waiting)|Entering|Leaving)"
    r"|: Assembler messages:$"
)
_TOO_LARGE = "File size limit exceeded"  # said by a compiler, make or a shell
_RULE = re.compile(r"^g?make(\[\d+\])?: (\*\*\* )?")
_BETWEEN = re.compile(r"/tmp/cc\w+\.[os](?=:)(:\d+)?")
ODD = re.compile(r"[^\w/.@+=~-]")  # in a path, for make
ROOM = 64 << 20  # bytes; a disk with less may be what a compiler complains of


def build_folder() -> Path:
    """Where everything that is built goes: build/, or CONVLAB_BUILD.

    Raises GraderError for a path that means something else to make or to a shell, and
    for none, which would mean the folder that make runs in.
    """
    named = os.environ.get("CONVLAB_BUILD", str(rungs.ROOT / "build"))
    if not named.strip():
        raise GraderError(
            "CONVLAB_BUILD= is empty, expected a folder for built files. Name a "
            "folder, or leave out CONVLAB_BUILD= to use build/"
        )
    folder = Path(named).resolve()
    for path, name, advice in (
        (rungs.ROOT, "this folder", "move it elsewhere"),
        (folder, "the build folder", "name another folder with CONVLAB_BUILD="),
    ):
        if found := ODD.search(str(path)):
            odd = "a space" if found[0] == " " else ascii(found[0])
            raise GraderError(
                f"the path of {name} contains {odd}, but make cannot handle this: "
                f"{one_line(str(path))}; {advice}"
            )
    return folder


def named_compiler() -> str:
    """The C compiler's name, and perhaps words to call it with: CC, or cc."""
    return os.environ.get("CC", "").strip() or "cc"


def named_cpp() -> str:
    """The C++ compiler's name: CXX, or g++."""
    return os.environ.get("CXX", "").strip() or "g++"


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
    done = make_tools([], "the program that runs your code")
    if done.returncode:
        raise GraderError(f"cannot build the grader's programs: {reason(done.stdout)}")


def sanitizers_missing() -> str:
    """Build the worker of the memory check. "" or why there can be none here."""
    done = make_tools(["sanitized"], "the memory check")
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


def races_missing() -> str:
    """Build the worker that runs threads in turns. "" or why there can be none here."""
    done = make_tools(["races"], "the race check")
    return f"{compiler()}: {reason(done.stdout)}" if done.returncode else ""


def make_tools(arguments: list[str], what: str) -> subprocess.CompletedProcess[str]:
    """Some of the grader's own programs; `what` names them."""
    with once.alone(build_folder() / "tools"), working.on(f"compile {what}, once"):
        return run_make(["-f", TOOLS, f"BUILD={build_folder()}", *arguments])


def run_make(
    arguments: list[str],
    *,
    sees: Path | None = None,
    own: Path | None = None,
    also: Sequence[Path] = (),
) -> subprocess.CompletedProcess[str]:
    """make in the repository's root, in the sandbox that run_compiler makes."""
    command = ["make", "-s", "-j2", "--output-sync", *arguments]
    return run_compiler(command, sees=sees, own=own, also=also)


def run_compiler(
    command: list[str],
    *,
    sees: Path | None = None,
    own: Path | None = None,
    also: Sequence[Path] = (),
) -> subprocess.CompletedProcess[str]:
    """A command in the repository's root; its output is one text, cut to size.

    With `sees` it runs in a sandbox: the compiler sees the system, common/ and that
    file, and of the build folder `own` alone, if there is one, and `also` these: source
    text can name any file (#include, .incbin). A linker sees the whole build folder and
    what is given.
    """
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    environment.update(LC_ALL="C", CC=compiler(), TMPDIR="/tmp")
    environment[OWNER] = str(os.getpid())
    build_folder().mkdir(parents=True, exist_ok=True)
    if sees and sandbox.level() == "bwrap":
        given = [p for p in [rungs.ROOT / "given"] if p.exists() and not own]
        seen = [rungs.ROOT / "common", sees, *given, *_toolchain(), *also]
        folder = own or build_folder()
        folder.mkdir(parents=True, exist_ok=True)
        command = sandbox.wrap_compiler(
            command, paths=seen, folders=[folder], start=rungs.ROOT
        )
    # at the first number gcc says why it ends, at the second it is killed
    cpu = [f"--cpu={CORE_SECONDS}:{CORE_SECONDS + 5}"] if sees else []
    command = ["prlimit", *COMPILER_LIMITS, *cpu, "--", *command]
    with tempfile.TemporaryFile() as output:  # a pipe would have no limit of bytes
        process = subprocess.Popen(
            command,
            cwd=rungs.ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        deadline = DEADLINE if sees else OUR_DEADLINE
        try:
            process.wait(timeout=deadline)
        except subprocess.TimeoutExpired:
            text = (
                f"error: the compiler did not finish within {deadline:.0f} s. Perhaps "
                "the machine is busy: run the command again"
            )
            return subprocess.CompletedProcess(command, LATE, text)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # make's children outlive it
            process.wait()
        text = _compiler_words(output)
    if process.returncode:
        text = _ended(text) or text
    _refuse_a_folder_that_takes_nothing(text)
    return subprocess.CompletedProcess(command, process.returncode, text)


def _compiler_words(output: IO[bytes]) -> str:
    """What a compiler said; of very much, the start and the end."""
    size = output.seek(0, os.SEEK_END)
    output.seek(0)
    said = output.read(KEPT)
    if size > KEPT:
        output.seek(max(size - KEPT, KEPT))
        said += b"\n" + output.read(KEPT)
    if size >= FILE:
        said += f"\n{_TOO_LARGE}".encode()  # the compiler could not say it any more
    return cleaned(said.decode(errors="replace"))


def _ended(text: str) -> str:
    """A sentence if a limit has ended the compiler; "" if none has."""
    asked = "does the file include itself, or does a macro grow without end?"
    if "CPU time limit exceeded" in text:
        did = f"used {CORE_SECONDS} s of processor time"
    elif _TOO_LARGE in text:
        did = "wrote a file that is too large"
    else:
        return ""
    return f"error: the compiler {did} and was stopped: {asked}"


def binutils(*command: str, making: str) -> None:
    """Run ld, objcopy or ar. Raises ProductError if it fails."""
    done = run_compiler(list(command))
    if done.returncode:
        raise ProductError(f"cannot build {making}: {reason(done.stdout)}")


def _refuse_a_folder_that_takes_nothing(text: str) -> None:
    """Raise GraderError if a compiler complains of the build folder."""
    full = shutil.disk_usage(build_folder()).free < ROOM
    if full and "No space left on device" in text:  # a file may say so in #error
        raise GraderError(
            f"the disk is full: nothing could be built in {build_folder()}; make room "
            "and run the command again"
        )
    for words in ("Permission denied", "Read-only file system"):
        if words in text and str(build_folder()) in text:
            raise GraderError(
                f"cannot write to {build_folder()}: {words.lower()}; fix its "
                "permissions, or name another folder with CONVLAB_BUILD="
            )


def _toolchain() -> list[Path]:
    """Where a compiler lives that is not the system's."""
    found = Path(shutil.which(compiler().split()[0]) or "/usr/bin/cc").resolve()
    etc = Path("/etc/alternatives")  # Debian's cc is a link through here
    own = [] if found.is_relative_to("/usr") else [found.parents[1]]
    return [*own, *([etc] if etc.exists() else [])]


def first_line(command: list[str]) -> str:
    """The first line of what a program says of itself; "none" where there is none."""
    if not shutil.which(command[0]):
        return "none"
    done = subprocess.run(command, capture_output=True, text=True, timeout=10)
    return (done.stdout.splitlines() or ["unknown"])[0]


def reason(text: str) -> str:
    """The line of a tool's output that says most, in words that mean something to a
    person: not make's own about its recipes, no name of a file in between.
    """
    said = [line for line in text.splitlines() if not _OF_MAKE.search(line)]
    errors = [line for line in said if "rror:" in line]
    errors = errors or [line for line in said if "***" in line]
    line = (errors or said or ["it ended without a message"])[0].strip()
    return short(_BETWEEN.sub("the assembler", _RULE.sub("", line)), 400)
