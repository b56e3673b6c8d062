# SPDX-License-Identifier: MIT
"""Builds a C file with all its changes in one library; a number chooses the change."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from grader.checks.subject import Subject
from grader.course.rungs import Rung
from grader.diagnosis.repair.in_c.c_edits import Switchable, switchable
from grader.diagnosis.repair.small_change import WORDS, Edit
from grader.runner.supervisor.call import EDIT_SHIFT, Call, Run
from grader.toolchain import make

LINK = ("-shared", "-Wl,-Bsymbolic", "-Wl,-z,defs", "-nostartfiles")
KINDS = tuple(WORDS)
ROUNDS = 3  # of the compiler; each time without the changes that it has refused


@dataclass
class ChangedC:
    """A subject that runs the library with all changes."""

    subject: Subject
    edits: list[Edit]

    @property
    def order(self) -> Sequence[int]:
        """The numbers of the changes, the likeliest kinds first."""
        numbers = range(1, len(self.edits) + 1)
        return sorted(numbers, key=lambda n: KINDS.index(self.edits[n - 1].kind))

    def choose(self, call: Call, number: int) -> bool:
        """Let the call's next run say which change is in force."""
        plain = call.request.run & ((1 << EDIT_SHIFT) - 1) & ~Run.EDIT
        call.request.run = plain | Run.EDIT | number << EDIT_SHIFT
        return True


@contextmanager
def changed(
    rung: Rung, subject: Subject, direction: str, dtype: str
) -> Iterator[ChangedC]:
    """The changes of a file in C that calls no other rung; else none."""
    made = None
    if rung.file.suffix == ".c" and not rung.uses:
        entry = f"{rung.operator}_{direction}"
        made = switchable(rung.file, entry, dtype, rung.flags)
    home = make.build_folder() / "repair"
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home) as folder:
        made, library = _built(rung, made, dtype, Path(folder))
        if not made or not library:
            yield ChangedC(subject, [])
            return
        forward, backward = subject.libraries[dtype]
        both = (library, backward) if direction == "forward" else (forward, library)
        again = Subject(subject.operator, libraries={dtype: both})
        try:
            yield ChangedC(subject.judges(again), made.edits)
        finally:
            again.close()


def _built(
    rung: Rung, made: Switchable | None, dtype: str, folder: Path
) -> tuple[Switchable | None, Path | None]:
    """The library with all changes but those that the compiler refuses."""
    source, library = folder / "edits.c", folder / "edits.so"
    command = [*make.compiler().split(), *_flags(rung), f"-DREAL_{dtype.upper()}"]
    command += [*LINK, "-o", str(library), str(source), "-lm"]
    for _ in range(ROUNDS):
        if not made:
            break
        source.write_text(made.text, encoding="utf-8")
        done = make.run_compiler(command, sees=rung.file, own=folder, also=rung.headers)
        if not done.returncode:
            return made, library
        made = made.without(done.stdout)
    return None, None


def _flags(rung: Rung) -> list[str]:
    """The flags of the rung's plain build, without optimisation and warnings."""
    order = ["-f", "common/rung.mk", f"RUNG={rung.shown}", "flags"]
    done = make.run_make([*order, f"EXTRA={' '.join(rung.flags)}"], sees=rung.file)
    told = [] if done.returncode else done.stdout.split()
    kept = [flag for flag in told if not flag.startswith(("-O", "-g", "-W"))]
    return ["-O0", "-g0", "-w", *kept, f"-I{rung.file.parent}"]
