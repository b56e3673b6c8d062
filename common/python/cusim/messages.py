# SPDX-License-Identifier: MIT
"""Turns the compiler's errors into sentences for a student.

A launch becomes a call of a template in core.h. So an error in it also prints the
internals of the template. They are removed. Each error keeps its sentence and its line
of the .cu file. Code is shown from that file, because clang would show the rewritten
text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

_PLACE = r"^(?P<file>[^:\s][^:]*):(?P<line>\d+):(?:\d+:)? "
_KIND = r"(?P<kind>error|fatal error|warning|note)"
_DIAGNOSTIC = re.compile(rf"{_PLACE}{_KIND}: (?P<text>.*)$")
_REQUIRED = re.compile(rf"{_PLACE} *(?P<text>required from here)$")
_IGNORED = re.compile(
    r"^(\s|make: |make\[|In file included|\S+: In |\S+: At global|\d+ \w+ generated"
    r"|compilation terminated|\S+: +(required from|recursively required|\[ skipping)|$)"
)
_INNARDS = re.compile(r"in instantiation of|template argument deduction|Launch(Any)?<")
_INSIDE = re.compile(r"(^|/)cusim/include/")

_MISSING = re.compile(r"'?([\w./]+)'?(?:: No such file| file not found)")
_HEADERS = (
    (
        ("cuda/", "cooperative_groups/"),
        "libcu++ is not in cusim: use cuda_runtime.h, cooperative_groups.h and ptx.h",
    ),
    (
        ("cublas", "cudnn", "cufft", "curand", "cusparse", "cusolver", "nccl"),
        "NVIDIA's libraries are not in cusim: write the kernel, or build with nvcc",
    ),
    (
        ("thrust/", "cub/", "cute/", "cutlass/"),
        "NVIDIA's templates are not in cusim: write the kernel, or build with nvcc",
    ),
    (("cuda", "nv", "texture", "surface", "sm_"), "cusim has no such CUDA header"),
)

_UNDECLARED = re.compile(
    r"(?:use of undeclared identifier '(\w+)'|'(\w+)' was not declared in this scope"
    r"|'(\w+)' does not name a type|unknown type name '(\w+)')"
)
_CUDA_NAME = re.compile(r"^(cuda[A-Z]|cu[A-Z]|__\w+|atomic[A-Z]|make_)")


@dataclass
class _Message:
    file: str
    line: int
    kind: str
    text: str
    notes: list[_Message] = field(default_factory=list)

    @property
    def inside(self) -> bool:
        """Whether it is about a header of cusim."""
        return _INSIDE.search(self.file) is not None


def shorten(output: str, folder: Path) -> str:
    """Errors and warnings with their line of the .cu file, one sentence each.

    `folder` is where the compiler ran.
    """
    messages: list[_Message] = []
    before: list[_Message] = []  # gcc says who asked for a template before the error
    for line in output.splitlines():
        found = _DIAGNOSTIC.match(line) or _REQUIRED.match(line)
        if found is None:
            if not _IGNORED.match(line):
                messages.append(_Message("", 0, "", line))
            continue
        kind = found.groupdict().get("kind", "required")
        message = _Message(found["file"], int(found["line"]), kind, found["text"])
        if kind == "required":
            message.kind = "note"
            before.append(message)
        elif kind == "note":
            if messages:
                messages[-1].notes.append(message)
        else:
            message.notes, before = before, []
            messages.append(message)
    return "".join(_written(message, folder) for message in messages)


def _written(message: _Message, folder: Path) -> str:
    if not message.file:
        return message.text + "\n"
    sentence = _launch(message) or _header(message) or _unknown(message)
    text = _line(message, sentence or message.text, folder)
    for note in message.notes:
        here = (note.file, note.line) == (message.file, message.line)
        asked = note.text == "required from here" and here
        if not (sentence or note.inside or asked or _INNARDS.search(note.text)):
            text += f"{note.file}:{note.line}: note: {note.text.strip()}\n"
    return text


def _line(message: _Message, sentence: str, folder: Path) -> str:
    kind = message.kind.replace("fatal ", "")
    text = f"{message.file}:{message.line}: {kind}: {sentence}\n"
    try:
        lines = (folder / message.file).read_text(errors="replace").splitlines()
    except OSError:
        return text
    if 0 < message.line <= len(lines):
        text += f"{message.line:6} | {lines[message.line - 1].strip()}\n"
    return text


# ---- launches ------------------------------------------------------------------------

_TAKES = re.compile(r"Launch<(?P<takes>.*)>\)? ?(?:\((?P<given>.*)\))?'$")
_WRONG_TYPE = (
    re.compile(r"no known conversion for argument (\d+) from '(.*)' to '(.*)'"),
    re.compile(r"no known conversion from '(.*)' to '(.*)' for (\d+)\w\w argument"),
)
_WRONG_COUNT = re.compile(
    r"(?:expects|requires)(?: single)? (\d+)? ?arguments?.*?(\d+) (?:w\w+ )?provided"
)


def _launch(message: _Message) -> str | None:
    """One sentence for the launch of something with the wrong arguments."""
    text = message.text
    if "no match" in text and "Launch<" in text:
        takes = _TAKES.search(text)
        kernel = f"the kernel takes ({takes['takes']})" if takes else ""
        for note in message.notes:
            reason = _reason(note.text)
            if reason:
                return f"wrong arguments of a launch: {kernel}, {reason}"
        return f"wrong arguments of a launch: {kernel}"
    if re.match(r"no matching function for call to 'launch(\(|')", text):
        whole = text + " ".join(note.text for note in message.notes)
        if "overloaded function" in whole or "couldn't infer" in whole:
            return (
                "which kernel is launched here? Several kernels have this name: write "
                "the template arguments, or static_cast<void (*)(...)>(kernel)"
            )
        return "the name before <<< is not a kernel: write a __global__ function"
    return None


def _reason(note: str) -> str | None:
    found = _WRONG_TYPE[0].search(note)
    if found:
        return f"but argument {found[1]} is {found[2]}, which is not a {found[3]}"
    found = _WRONG_TYPE[1].search(note)
    if found:
        return f"but argument {found[3]} is {found[1]}, which is not a {found[2]}"
    found = _WRONG_COUNT.search(note)
    return f"but the number of arguments passed is {found[2]}" if found else None


# ---- what cusim does not have --------------------------------------------------------


def _header(message: _Message) -> str | None:
    found = _MISSING.search(message.text)
    if not found:
        return None
    for starts, sentence in _HEADERS:
        if found[1].startswith(starts):
            return f"#include '{found[1]}': {sentence}"
    return None


def _unknown(message: _Message) -> str | None:
    found = _UNDECLARED.search(message.text)
    if not found:
        return None
    name = next(group for group in found.groups() if group)
    if not _CUDA_NAME.match(name):
        return None
    return (
        f"'{name}' is not known: is it misspelled? If nvcc accepts it, cusim does "
        "not have it yet"
    )
