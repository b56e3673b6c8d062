# SPDX-License-Identifier: MIT
"""Reads a student's C file as a tree of its declarations and statements.

The compiler's preprocessor runs first, as the compiler itself does: in the sandbox. The
headers beside this module stand for the system's and for vector.h: the parser knows
standard C alone.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pycparser import c_ast
from pycparser.c_parser import CParser, ParseError

from grader.course.rungs import ROOT
from grader.toolchain import make

HEADERS = Path(__file__).with_name("headers")
DEFINES = (  # words of GNU C that the parser does not know
    "-D__attribute__(x)=",
    "-D__extension__=",
    "-D__restrict=restrict",
    "-D__restrict__=restrict",
    "-D__inline=inline",
    "-D__inline__=inline",
    "-D__const=const",
    "-D__volatile__=volatile",
)
MOST = 2 << 20  # characters of a preprocessed file
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include\b.*$", re.M)
_VECTORS = re.compile(r"\bvector_size\b|\bpacked\b")  # the parser drops them
_TOKEN = re.compile(r"\w+(?:\.\w+)?|\S")


@dataclass(frozen=True)
class CFile:
    """A parsed file: its lines, its #include lines, and its tree, headers included."""

    path: Path
    lines: tuple[str, ...]
    includes: tuple[str, ...]
    tree: c_ast.FileAST

    @property
    def own(self) -> list[c_ast.Node]:
        """The declarations and functions of the file itself, in its order."""
        return [node for node in self.tree.ext if _place(node)[0] == str(self.path)]

    def standing(self, line: int, text: str) -> str:
        """The text as it stands in a line, perhaps with other spaces; "" if not."""
        if not 1 <= line <= len(self.lines) or not text:
            return ""
        found = _pattern(text).search(self.lines[line - 1])
        return found[0] if found else ""


def parsed(file: Path, dtype: str, options: Sequence[str] = ()) -> CFile | None:
    """Reads a file as it is compiled for float32 ("f32") or float64 ("f64").

    `options` are more words for the compiler. None if the parser does not know a word
    of the file, or if the compiler refuses the file.
    """
    try:
        text = file.read_text()
    except (OSError, UnicodeDecodeError):
        return None
    preprocessed = _preprocessed(file, dtype, options)
    if preprocessed is None or _VECTORS.search(text):
        return None
    try:
        tree = CParser().parse(preprocessed, str(file))
    except (ParseError, AssertionError, RecursionError, ValueError):
        return None
    includes = tuple(found.strip() for found in _INCLUDE.findall(text))
    return CFile(file, tuple(text.splitlines()), includes, tree)


def line_of(node: c_ast.Node) -> int:
    """The line on which a node of the tree begins; 0 if the parser does not say it."""
    return _place(node)[1]


def _place(node: c_ast.Node) -> tuple[str, int]:
    """The file and the line of a node."""
    coord = getattr(node, "coord", None)
    if isinstance(node, c_ast.FuncDef):
        coord = node.decl.coord
    return (str(coord.file), int(coord.line)) if coord else ("", 0)


def _preprocessed(file: Path, dtype: str, options: Sequence[str]) -> str | None:
    """The text after the preprocessor; None if this fails."""
    build = make.build_folder() / "repair"
    build.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=build) as folder:
        output = Path(folder) / "text.i"
        command = [
            *make.compiler().split(),
            *("-E", "-nostdinc", "-std=c11", "-w", *DEFINES),
            *(word for word in options if word.startswith(("-D", "-U"))),
            "-DREAL_F64" if dtype == "f64" else "-DREAL_F32",
            *("-iquote", str(HEADERS), "-I", str(HEADERS)),
            *("-I", str(ROOT / "common"), "-I", str(file.parent)),
            *("-o", str(output), str(file)),
        ]
        beside = sorted(file.parent.glob("*.h"))
        done = make.run_compiler(
            command, sees=file, own=Path(folder), also=[HEADERS, *beside]
        )
        if done.returncode or not output.exists() or output.stat().st_size > MOST:
            return None
        return output.read_text(errors="replace")


def _pattern(text: str) -> re.Pattern[str]:
    """Finds a text whose words may be further apart, and no part of a longer word."""
    tokens = _TOKEN.findall(text)
    before = r"(?<![\w.])" if tokens[0][0].isalnum() else ""
    after = r"(?!\w)" if tokens[-1][-1].isalnum() else ""
    if len(text) <= 2 and not text[0].isalnum():  # an operator, no longer one
        before, after = r"(?<![<>=!+\-*/%&|])", r"(?![<>=+\-&|])"
        tokens = [text]
    return re.compile(before + r"\s*".join(re.escape(t) for t in tokens) + after)
