# SPDX-License-Identifier: MIT
"""Links objects to one object, which exports only the functions that it is to export.

ld and objcopy do the work. A static linker would see two rungs' functions of one name
as an error. So each object first gets the names that linked_parts.py has chosen.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ladders import Refusal
from ladders.linked_parts import PART, Linked

Tool = Callable[..., None]  # runs a command; raises Refusal if it fails


def joined(
    parts: Sequence[Linked], file: Path, tool: Tool, others: Mapping[str, str]
) -> None:
    """Link objects into `file`. `others` are more names of functions. What is needed on
    the way lies beside the file.
    """
    made = []
    for number, part in enumerate(parts):
        whole = file.with_name(f"{file.name}.{number}.whole")
        # each part keeps its own copy of what C++ shares among objects (COMDAT groups)
        words = ["--whole-archive", "--force-group-allocation", part.file]
        tool("ld", "-r", "-o", str(whole), *words)
        defined = _names(whole, "--defined-only")
        own = [(old, new) for old, new in part.own if old in defined]
        if not own:
            continue  # this dtype is built for no direction
        pairs = [f"--redefine-sym={old}={new}" for old, new in (*own, *part.called)]
        keep = [f"--keep-global-symbol={new}" for _, new in own]
        made.append(str(whole.with_suffix(".o")))
        tool("objcopy", *pairs, *keep, str(whole), made[-1])
    names = [f"--defsym={other}={name}" for other, name in others.items()]
    tool("ld", "-r", *names, "-o", str(file), *made)
    tool("objcopy", "--wildcard", f"--localize-symbol={PART}*", str(file))
    for name in sorted(_names(file, "--undefined-only")):
        if name.endswith(("_forward", "_backward")):
            raise Refusal(
                f"a file calls {name}, but no line of lab.toml says what it is"
            )


def _names(file: Path, which: str) -> set[str]:
    """Global names of an object."""
    command = ["nm", "-g", which, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    return {line.split()[-1] for line in done.stdout.splitlines()}
