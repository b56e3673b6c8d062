# SPDX-License-Identifier: MIT
"""What the texts of a tree refer to, and whether it is there: files, rungs, commands.

Only what a person reads is searched: Markdown, lab.toml, comments and docstrings. A
reference is known by its form alone; what has none of these forms is not followed:

    a path      a word that begins with a folder of the tree; the target of a link
    a file      a word that ends as files do, `launch.h`, also with folders before it
    a rung      `00_ijk`, `matmul/00_ijk`, `03_im2col_cpu/matmul/00`
    a command   make NAME, T=..., LAB=..., python -m NAME
    a decision  decision 0007

`<op>`, `*`, `...`, NN, NAME and FILE stand for any name. A file may be named by the end
of its path, and without its ending.
"""

from __future__ import annotations

import ast
import io
import json
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import metadata
from pathlib import Path

from tests.house.test_style import MAKE_COMMAND

FOLDERS = r"labs|grader|common|docs|tests|requirements|given|build|\.venv|\.ci"
ENDINGS = r"py|c|h|cu|cuh|cpp|mk|md|toml|ipynb|json|html"
PART = r"(?:[\w.*-]|<[^<>\n]+>)+"  # of a path, between two slashes
BEFORE, BEHIND = r"(?<![\w/.*<>$~}-])", r"(?![\w/*<-]|\.\w)"
PATH = re.compile(
    rf"{BEFORE}(?:(?:{FOLDERS})(?:/{PART})+|(?:{PART}/)*?{PART}\.(?:{ENDINGS}){BEHIND})"
)
RUNG = re.compile(rf"{BEFORE}(?:\w+/)*\d\d_[a-z]\w*(?:/\w+)*{BEHIND}")
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
CHOICE = re.compile(r"(?<![\w'\"-])(T|LAB)=([\w./<>*-]+)")
MODULE = re.compile(r"\bpython3? -m (\w+(?:\.\w+)*)")
DECISION = re.compile(r"\b[Dd]ecisions? (\d{4})(?: (?:to|and) (\d{4}))?")

ANY = re.compile(r"<[^<>\n]+>|\.\.\.|\b(?:NN|NAME|FILE)(?=_|\b)")
MADE = re.compile(  # by our commands: not there before somebody has run them
    r"(build|\.venv|given)(/|$)|((results|counts_04|bench_.*)\.json|train\.md)$"
    r"|^compile_commands\.json$"
)
SILENT = re.compile(  # programs in the manner of others, pages that a program writes
    r"tests/programs/(redteam|cusim/(bugs|right|foreign))/|docs/results/"
)

# asks a tree's own grader: each line of input is a T= or LAB=, the bad ones are printed
ASK = """
import sys
from grader.errors import GraderError
from grader.course.tasks import select
for line in sys.stdin.read().splitlines():
    key, value = line.split("=", 1)
    try:
        select(value) if key == "T" else select(None, value)
    except GraderError:
        print(line)
"""


# ---- what a person reads -------------------------------------------------------------


def readable(file: Path) -> str:
    """The part of a file that is text for people; empty if we know of none."""
    if file.name == "lab.toml" or file.suffix == ".md":
        found = [file.read_text()]
    elif file.name == "Makefile" or file.suffix in (".mk", ".in", ".toml"):
        found = re.findall(r"(?m)(?:^|\s)#.*", file.read_text())
    elif file.suffix in (".c", ".h", ".cu", ".cuh", ".cpp", ".js", ".css"):
        string_or_comment = r"\"(?:\\.|[^\"\\\n])*\"|(/\*.*?\*/|//[^\n]*)"
        found = re.findall(string_or_comment, file.read_text(), re.S)
    elif file.suffix == ".py":
        found = [*_said_in_python(file.read_text())]
    elif file.suffix == ".ipynb":
        cells = json.loads(file.read_text())["cells"]
        found = ["".join(c["source"]) for c in cells if c["cell_type"] == "markdown"]
    else:
        found = []
    return re.sub(r"<!--.*?-->", "", "\n".join(found), flags=re.S)  # notes to programs


def _said_in_python(text: str) -> Iterator[str]:
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, documented):
            yield ast.get_docstring(node) or ""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


# ---- a tree --------------------------------------------------------------------------


@dataclass(frozen=True)
class Tree:
    """The files of a repository or of a handout."""

    root: Path
    names: tuple[str, ...]

    @cached_property
    def texts(self) -> dict[str, str]:
        """What there is to read, by file."""
        names = [name for name in self.names if not SILENT.match(name)]
        return {name: said for name in names if (said := readable(self.root / name))}

    @cached_property
    def places(self) -> frozenset[str]:
        """Every file and folder, files also without their ending."""
        every = {p for name in self.names for p in (Path(name), *Path(name).parents)}
        return frozenset(str(one) for p in every for one in (p, p.parent / p.stem))

    @cached_property
    def ends(self) -> frozenset[str]:
        """The same, and every end of their paths."""
        parts = [place.split("/") for place in self.places]
        return frozenset("/".join(p[i:]) for p in parts for i in range(len(p)))

    @cached_property
    def targets(self) -> set[str]:
        """The commands of its Makefile."""
        makefile = (self.root / "Makefile").read_text()
        return set(re.findall(r"(?m)^([a-z-]+):.*## ", makefile))

    def has(self, path: str) -> bool:
        """Whether it has a place with such a path, or with a path that ends so."""
        path = ANY.sub("*", path.strip("/"))
        names = self.places if re.match(rf"(?:{FOLDERS})/", path) else self.ends
        if "*" not in path:
            return path in names
        shape = re.compile(re.escape(path).replace(r"\*", "[^/]*"))
        return any(map(shape.fullmatch, names))

    def refuses(self, choices: list[str]) -> list[str]:
        """Those of some `T=...` and `LAB=...` that its own grader does not know."""
        done = subprocess.run(
            [sys.executable, "-c", ASK],
            input="\n".join(choices),
            cwd=self.root,
            env={
                "PYTHONPATH": ":".join(
                    f"{self.root}/{p}" for p in ("", "common/python", "grader/python")
                )
            },
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()


# ---- its references ------------------------------------------------------------------


def dead(tree: Tree, texts: dict[str, str] | None = None) -> list[str]:
    """Every reference of a tree's texts that leads nowhere: "file: reference"."""
    found = []
    choices: dict[str, list[str]] = {}
    for name, text in (tree.texts if texts is None else texts).items():
        found += [f"{name}: {one}" for one in _files(tree, name, text)]
        found += [f"{name}: {one}" for one in _rungs(tree, name, text)]
        found += [f"{name}: {one}" for one in _commands(tree, text)]
        for choice in _choices(text):
            choices.setdefault(choice, []).append(name)
    for choice in tree.refuses(list(choices)):
        found += [f"{name}: {choice}" for name in choices[choice]]
    return sorted(set(found))


def _files(tree: Tree, name: str, text: str) -> Iterator[str]:
    folder = (tree.root / name).parent
    for link in LINK.findall(text):
        if not (folder / link).exists():
            yield f"({link})"
    for path in map(_bare, PATH.findall(LINK.sub("", text))):
        beside = path.startswith("..") and (folder / path).exists()
        if not (beside or MADE.match(path) or tree.has(path)):
            yield path
    for numbers in DECISION.findall(text):
        for number in filter(None, numbers):
            if not tree.has(f"docs/decisions/{number}-*"):
                yield f"decision {number}"


def _rungs(tree: Tree, name: str, text: str) -> Iterator[str]:
    """Rungs are named within their lab, by their name alone within their ladder."""
    lab = re.match(r"labs/\w+/", name)
    ladder = re.match(r"labs/\w+/\w+/(?=\d\d_)", name)
    for rung in RUNG.findall(PATH.sub("", text)):
        whole = re.match(r"\d\d_\w+/", rung)  # an id: the grader is asked, see _choices
        within = lab if "/" in rung else ladder or lab
        front = within[0] if within else ""
        places = (f"{front}{rung}", f"{front}*/{rung}", f"labs/{rung}")
        if not whole and not any(map(tree.has, places if front else (rung,))):
            yield rung


def _commands(tree: Tree, text: str) -> Iterator[str]:
    for target in map("".join, MAKE_COMMAND.findall(text)):
        if target not in tree.targets:
            yield f"make {target}"
    for module in MODULE.findall(text):
        path = module.replace(".", "/")
        ours = tree.has(f"{path}.py") or tree.has(f"{path}/__main__.py")
        if not (ours or module.split(".")[0] in _installed() or ANY.fullmatch(module)):
            yield f"python -m {module}"


@cache
def _installed() -> set[str]:
    """The packages of others."""
    return {*sys.stdlib_module_names, *metadata.packages_distributions()}


def _choices(text: str) -> Iterator[str]:
    """T= and LAB=, and ids of rungs and tasks, as T=."""
    for key, value in CHOICE.findall(text):
        if not ANY.search(value):
            yield f"{key}={_bare(value)}"
    for rung in RUNG.findall(PATH.sub("", text)):
        if re.match(r"\d\d_\w+/", rung) and not ANY.search(rung):
            yield f"T={rung}"


def _bare(word: str) -> str:
    """A word without the full stop of its sentence."""
    return word if word.endswith("...") else word.rstrip(".")
