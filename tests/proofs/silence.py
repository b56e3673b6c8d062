# SPDX-License-Identifier: MIT
"""How long is a command silent? Records the output of 12 commands in a terminal.

    python -m tests.proofs.silence [COMMAND ...]

Each command runs as a person types it. A bar or a line that is drawn again without a
change does not count as output. Each command has two runs: cold, with an empty build
folder, and warm. For every run the longest silences are printed, with the output before
and after each of them. Run it on an idle machine.
"""

from __future__ import annotations

import os
import pty
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tests import ROOT

LONGEST = 2.0  # seconds that a person waits without a doubt
CONTROL = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]|[\r\n]")
DEBUGGERS = b"(Pdb)", b"(gdb)"  # what a prompt ends with
LINE = 100  # bytes: more than a prompt
COMMANDS = (
    "make doctor",
    "make grade T=02_naive_c/conv2d",
    "make grade T=04_cuda_kernels/add SPEED=off",
    "make grade T=05_torch_extension/gelu SPEED=off",
    "make hint T=02_naive_c/add",
    "make progress",
    "make report",
    "make build T=03_im2col_cpu/matmul",
    "make profile T=03_im2col_cpu/matmul/02",
    "make debug T=01_python_function/gelu",
    "make bench T=03_im2col_cpu/add",
    "make editor",
)


@dataclass(frozen=True)
class Silence:
    """No new output between two moments."""

    seconds: float
    begin: float  # since the command was started
    before: str  # the end of the output so far
    after: str  # how the next output begins


def silences(
    command: Sequence[str], environment: Mapping[str, str]
) -> Iterator[Silence]:
    """Run a command in a terminal of its own. A debugger gets the end of its input."""
    start = last = time.monotonic()
    before = tail = b""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(ROOT)
        os.execvpe(command[0], list(command), dict(environment))
    while data := _read(terminal):
        tail = (tail + data)[-LINE:]
        if tail.rstrip().endswith(DEBUGGERS):
            os.write(terminal, b"q\n")
        text = CONTROL.sub(b"", data).strip()
        if not text or text == before:
            continue
        now = time.monotonic()
        yield Silence(now - last, last - start, _words(before[-50:]), _words(text[:50]))
        last, before = now, text
    now = time.monotonic()
    yield Silence(now - last, last - start, _words(before[-50:]), "the end")
    os.waitpid(child, 0)


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # the other end is closed
        return b""


def _words(text: bytes) -> str:
    return text.decode(errors="replace").replace("━", "").replace("╺", "").strip()


def main(commands: Sequence[str]) -> int:
    """Print the silences; 1 if one is too long."""
    too_long = 0
    for command in commands or COMMANDS:
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "CONVLAB_BUILD": folder, "TERM": "xterm"}
            for state in ("cold", "warm"):
                found = list(silences(command.split(), environment))
                whole = sum(silence.seconds for silence in found)
                longest = sorted(found, key=lambda silence: -silence.seconds)[:3]
                print(f"{command} ({state}, {whole:.0f} s)")
                for one in longest:
                    words = f"after {one.before!r}, before {one.after!r}"
                    print(f"  {one.seconds:.1f} s at {one.begin:.1f} s: {words}")
                    too_long += one.seconds > LONGEST
            shutil.rmtree(folder, ignore_errors=True)
    print(f"{too_long} silences of more than {LONGEST:.0f} s")
    return 1 if too_long else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
