# SPDX-License-Identifier: MIT
"""Draws the mutations of the reference: one token changed, the list fixed by a seed.

The grader is tested by what it lets pass. A list written by hand would hold the
mistakes its author thought of, so this one is drawn: over all tokens of the references
of five operators in labs 01 and 02 that can become another token of their kind, each
file by its share of them, before anything was graded. `drawn.json` is committed; who
changes a reference draws again:

    python -m tests.proofs.mutations.draw [--check]

A token and what it may become:

    operator    + - * / % < <= > >= == != += -= *= /= = ++ -- && || ! ?, `and`, `or`,
                `not`, @, //, **: another of its family; unary minus and ! are dropped;
                `?` becomes `== 0 ?`, which turns the choice round
    number      one more, one less (never below 0)
    name        another variable of its type that is known at this place; capitals
                (sizes) become capitals; a field becomes another of its struct
    word        continue and break, True and False, max and min, STATUS_ words, and
                PyTorch's methods in ATTRIBUTES

Not drawn: comments, docstrings, STARTER lines, includes and imports, types and
annotations, the names that are being declared, punctuation. Of the comparisons `<`
becomes `<=`, `>` or `>=`, not `!=`: at the end of a counting loop that changes nothing.

Draws are by SHA-256 of seed, file, line and column: every Python draws the same.
"""

from __future__ import annotations

import argparse
import ast
import functools
import hashlib
import io
import json
import re
import sys
import tokenize
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tests import PROGRAMS, ROOT
from tests.proofs.mutations.fingerprint import fingerprint
from tests.proofs.mutations.scan import Tokens

DRAWN = PROGRAMS / "mutations" / "drawn.json"
Taken = Collection[tuple[str, int, int]]  # tokens: file, line, column
SEED = 20261121
COUNT = 160
OPERATORS = ("add", "unfold", "matmul", "linear", "conv2d")
LABS = ("01_python_function", "02_naive_c")


@dataclass(frozen=True)
class Mutation:
    """One token of one file, and what stands there instead."""

    id: str
    file: str  # from the repository's root
    line: int  # from 1
    column: int  # from 0, in characters
    old: str
    new: str

    @property
    def place(self) -> str:
        """Where a person looks for it: file:line."""
        return f"{self.file}:{self.line}"

    @property
    def change(self) -> str:
        """What was done to it, on one line."""
        return f"{self.old} -> {self.new or 'nothing'}"

    def apply(self, text: str) -> str:
        """The file with this token changed. Raises ValueError if it is not there."""
        lines = text.splitlines(keepends=True)
        line = lines[self.line - 1]
        if not line.startswith(self.old, self.column):
            raise ValueError(f"{self.place}: no {self.old!r} in column {self.column}")
        rest = line[self.column + len(self.old) :]
        lines[self.line - 1] = line[: self.column] + self.new + rest
        return "".join(lines)


@dataclass(frozen=True)
class Token:
    """A token that may be drawn."""

    line: int
    column: int
    text: str
    choices: tuple[str, ...]  # what it may become, at least one


# ---- what becomes what ---------------------------------------------------------------

COMMON = {
    "+": ("-", "*"),
    "-": ("+", "*"),
    "<": ("<=", ">", ">="),
    "<=": ("<", ">", ">="),
    ">": (">=", "<", "<="),
    ">=": (">", "<", "<="),
    "==": ("!=",),
    "!=": ("==",),
    "+=": ("-=", "="),
    "-=": ("+=", "="),
    "continue": ("break",),
    "break": ("continue",),
}
C_OPERATORS = COMMON | {
    "*": ("+", "/"),
    "/": ("*", "%"),
    "%": ("/", "*"),
    "*=": ("+=", "/="),
    "/=": ("*=", "%="),
    "++": ("--",),
    "--": ("++",),
    "&&": ("||",),
    "||": ("&&",),
    "!": ("",),
    "?": ("== 0 ?",),
}
C_WORDS = {"STATUS_OK": ("STATUS_NO_MEMORY",), "STATUS_NO_MEMORY": ("STATUS_OK",)}
PYTHON_OPERATORS = COMMON | {
    "*": ("+", "//"),
    "//": ("*", "%"),
    "**": ("*",),
    "@": ("*",),
    "and": ("or",),
    "or": ("and",),
    "not": ("",),
    "True": ("False",),
    "False": ("True",),
    "max": ("min",),
    "min": ("max",),
}
ATTRIBUTES = {
    "mT": ("data",),  # the transpose left out
    "sum": ("mean", "prod"),
    "fold": ("unfold",),
    "unfold": ("fold",),
    "expand": ("reshape",),
    "reshape": ("expand",),
    "new_zeros": ("new_ones",),
    "uniform_": ("normal_",),
    "stride": ("padding", "dilation"),
    "padding": ("stride", "dilation"),
    "dilation": ("stride", "padding"),
    "weight": ("bias",),
    "bias": ("weight",),
    "input_shape": ("other_shape",),
    "other_shape": ("input_shape",),
    "kernel_size": ("stride", "dilation"),
}
KINDS = (  # of names in lab 01; capitals are sizes, what is not listed is a tensor
    "stride padding dilation kernel_size size kernel room k count start kh kw top left"
    " right axis rank groups in_features out_features in_channels out_channels",
    "shape before",
    "rows columns",
)
ALONE = ("ctx", "self", "alpha", "bound", "batch", "pairs", "axes", "windows", "_")


def number(text: str) -> tuple[str, ...]:
    """One more and one less; none for one that is not written in plain digits."""
    digits = text.rstrip("fF")
    if re.fullmatch(r"\d+\.\d*", digits):
        return (f"{float(digits) + 1}",)
    if not text.isdecimal():
        return ()
    value = int(text)
    return tuple(str(n) for n in (value - 1, value + 1) if n >= 0)


# ---- C -------------------------------------------------------------------------------

_C_TOKEN = re.compile(
    r"(?P<skip>//[^\n]*|/\*.*?\*/|\s+|^[ \t]*\#[^\n]*)"
    r"|(?P<name>[A-Za-z_]\w*)|(?P<number>\d[\w.]*)|(?P<string>\"[^\"\n]*\")"
    r"|(?P<op>->|\+\+|--|<=|>=|==|!=|&&|\|\||[-+*/%]=|[-+*/%<>=!?:;,.(){}\[\]&|^~])",
    re.DOTALL | re.MULTILINE,
)
_C_TYPE = re.compile(
    r"void|const|static|inline|int|real|accum|vec|bits|restrict|typedef|struct|\w+_t"
    r"|DL\w+"  # of DLPack
)
_C_KEYWORDS = ("if", "for", "while", "else", "return", "sizeof", "continue", "break")


@dataclass(frozen=True)
class _Variable:
    """A variable of a C function and where its name means it: tokens [begin, end)."""

    name: str
    kind: tuple[str, int, bool]  # type, stars, capitals
    begin: int
    end: int


class CFile(Tokens):
    """The tokens of a C file and what is declared in it."""

    def __init__(self, text: str) -> None:
        super().__init__(text, _C_TOKEN)
        self.declared: set[int] = set()  # tokens that are names being declared
        self.variables: list[_Variable] = []
        self.typedefs: set[int] = set()
        for begin, body, end in self._functions():
            self._declare(begin, body, end)

    def eligible(self) -> Iterator[Token]:
        """Tokens that may be drawn, with what they may become."""
        for i, text in enumerate(self.tokens):
            if i in self.typedefs or i in self.declared:
                continue
            choices = self._choices(i)
            if choices:
                before = self.text[: self.at[i]]
                line = before.count("\n") + 1
                column = self.at[i] - (before.rfind("\n") + 1)
                yield Token(line, column, text, choices)

    def _choices(self, i: int) -> tuple[str, ...]:
        text, kind = self.tokens[i], self.kinds[i]
        if kind == "number":
            return number(text)
        if kind == "op":
            return self._operator(i)
        if kind != "name" or self._is_type(i):
            return ()
        if self.tokens[i - 1] in (".", "->"):
            return self._field(text)
        if text in _C_KEYWORDS or text in C_WORDS:
            return C_OPERATORS.get(text, C_WORDS.get(text, ()))
        return self._names(i)

    def _operator(self, i: int) -> tuple[str, ...]:
        text = self.tokens[i]
        if text in "+-*" and not self._is_operand(i - 1):
            return ("",) if text == "-" else ()
        if text == "=":
            designated = self.tokens[i - 2] == "." and self.tokens[i - 3] in "{,"
            return () if i - 1 in self.declared or designated else ("+=",)
        return C_OPERATORS.get(text, ())

    def _is_operand(self, i: int) -> bool:
        """Whether an expression may end here: what follows has two operands."""
        if self.tokens[i] == ")":
            opening = next(a for a, b in self.partner.items() if b == i)
            return self.tokens[opening - 1] not in ("if", "for", "while")
        if self.kinds[i] == "name":
            return not self._is_type(i) and self.tokens[i] not in _C_KEYWORDS
        return self.kinds[i] == "number" or self.tokens[i] == "]"

    def _field(self, text: str) -> tuple[str, ...]:
        """Another field: the other axis, or another option of the same axis."""
        plain = {"size": "stride", "stride": "size", "input": "output"}
        plain |= {"output": "input", "groups": "stride_h"}
        if text in plain:
            return (plain[text],)
        match = re.fullmatch(r"(stride|padding|dilation|kernel)_([hw])", text)
        if not match:
            return ()
        axis = match[2]
        options = ["stride", "padding", "dilation"]
        if "p.kernel_h" in self.text:
            options.append("kernel")
        same_axis = [f"{o}_{axis}" for o in options if o != match[1]]
        return (f"{match[1]}_{'w' if axis == 'h' else 'h'}", *same_axis)

    def _names(self, i: int) -> tuple[str, ...]:
        """Other variables of the same kind that are known here."""
        variables = [v for v in self.variables if v.begin <= i < v.end]
        mine = [v.kind for v in variables if v.name == self.tokens[i]]
        if not mine:
            return ()
        names = {v.name for v in variables if v.kind == mine[-1]} - {self.tokens[i]}
        return tuple(sorted(names))

    # ---- declarations ----------------------------------------------------------------

    def _is_type(self, i: int) -> bool:
        return _C_TYPE.fullmatch(self.tokens[i]) is not None

    def _functions(self) -> Iterator[tuple[int, int, int]]:
        """Each function's first token, opening and closing brace."""
        i = begin = 0
        while i < len(self.tokens):
            if self.tokens[i] == ";":
                begin = i + 1
            elif self.tokens[i] == "{":
                end = self.partner[i]
                if self.tokens[i - 1] == "=":
                    pass  # a table
                elif self.tokens[i - 1] == "struct":  # the type of a table
                    self.typedefs |= set(range(begin, end))
                elif self.tokens[begin] == "typedef":
                    while self.tokens[end] != ";":
                        end += 1
                    self.typedefs |= set(range(begin, end))
                    begin = end + 1
                else:
                    yield begin, i, end
                    begin = end + 1
                i = end
            i += 1

    def _declare(self, begin: int, body: int, end: int) -> None:
        """Note the parameters and variables of a function."""
        i = begin
        while i < end:
            if not self._is_type(i):
                i += 1
                continue
            base = ""
            while self._is_type(i):
                if self.tokens[i] not in ("const", "static", "inline", "restrict"):
                    base = self.tokens[i]
                i += 1
            name = i
            while self.tokens[name] == "*":
                name += 1
            if self.kinds[name] == "name" and self.tokens[name + 1] == "(":
                self.declared.add(name)  # the function's own name
                i = name
            elif self.tokens[i] != ")":  # not a cast
                i = self._declarators(base, i, body, end)

    def _declarators(self, base: str, i: int, body: int, end: int) -> int:
        """Names declared with one type; returns where to read on."""
        until = self._scope(i, body, end)
        base = {"int32_t": "int64_t", "accum": "real"}.get(base, base)
        while True:
            stars = 0
            while self.tokens[i] == "*" or self._is_type(i):
                stars += self.tokens[i] == "*"
                i += 1
            name = self.tokens[i]
            self.declared.add(i)
            if name == ")":  # a cast to a pointer
                return i + 1
            after = i + 1
            while self.tokens[after] not in (",", ";", ")"):
                after = self.partner.get(after, after) + 1
            capitals = base == "int64_t" and name.isupper()
            begin = body if i < body else after
            kind = (base, stars, capitals)
            self.variables.append(_Variable(name, kind, begin, until))
            if self.tokens[after] != "," or self._is_type(after + 1):
                return i + 1
            i = after + 1

    def _scope(self, i: int, body: int, end: int) -> int:
        """The end of what a name declared at `i` is known in."""
        if i < body:
            return end
        around = [a for a, b in self.partner.items() if a < i < b and a >= body]
        inner = max(around)
        if self.tokens[inner] == "(" and self.tokens[inner - 1] == "for":
            return self._statement(inner - 1)
        return self.partner[inner]

    def _statement(self, i: int) -> int:
        """One past the last token of the statement that begins at `i`."""
        if self.tokens[i] in ("for", "if", "while"):
            return self._statement(self.partner[i + 1] + 1)
        if self.tokens[i] == "{":
            return self.partner[i] + 1
        while self.tokens[i] != ";":
            i = self.partner.get(i, i) + 1
        return i + 1


# ---- Python --------------------------------------------------------------------------

Place = tuple[int, int]


class PythonFile:
    """The tokens of a Python file, with what its syntax tree says of them."""

    def __init__(self, text: str) -> None:
        self.tree = ast.parse(text)
        skipped = (tokenize.COMMENT, tokenize.NL, tokenize.ENCODING)
        found = tokenize.generate_tokens(io.StringIO(text).readline)
        self.tokens = [token for token in found if token.type not in skipped]
        self.annotations = list(self._annotations())
        self.names = dict(self._names())

    def eligible(self) -> Iterator[Token]:
        """Tokens that may be drawn, with what they may become."""
        for i, token in enumerate(self.tokens):
            line, column = token.start
            if any(a <= token.start < b for a, b in self.annotations):
                continue
            choices = self._choices(i)
            if choices:
                yield Token(line, column, token.string, choices)

    def _choices(self, i: int) -> tuple[str, ...]:
        token, before = self.tokens[i], self.tokens[i - 1]
        if token.type == tokenize.NUMBER:
            return number(token.string)
        if token.type == tokenize.OP:
            operand = before.type in (tokenize.NAME, tokenize.NUMBER)
            operand = operand or before.string in (")", "]")
            if not operand or before.string in ("return", "in", "else", "if", "lambda"):
                return ("",) if token.string == "-" else ()
            return PYTHON_OPERATORS.get(token.string, ())
        if token.type != tokenize.NAME:
            return ()
        if before.string == ".":
            return ATTRIBUTES.get(token.string, ())
        if token.string in PYTHON_OPERATORS:
            return PYTHON_OPERATORS[token.string]
        return self.names.get(token.start, ())

    def _annotations(self) -> Iterator[tuple[Place, Place]]:
        """Where types stand, and imports and names for types."""
        for node in ast.walk(self.tree):
            types: list[ast.expr | None] = []
            if isinstance(node, ast.FunctionDef):
                arguments = [*node.args.args, *node.args.kwonlyargs]
                types = [*(argument.annotation for argument in arguments), node.returns]
            elif isinstance(node, ast.AnnAssign):
                types = [node.annotation]
            yield from (_span(annotation) for annotation in types if annotation)
        for statement in self.tree.body:
            if isinstance(statement, (ast.Import, ast.ImportFrom, ast.Assign)):
                yield _span(statement)

    def _names(self) -> Iterator[tuple[Place, tuple[str, ...]]]:
        """For each variable that is read: the others of its kind known there."""
        for function in ast.walk(self.tree):
            if not isinstance(function, ast.FunctionDef):
                continue
            arguments = function.args
            places = {a.arg: (0, 0) for a in [*arguments.args, *arguments.kwonlyargs]}
            for node in ast.walk(function):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    place = (node.lineno, 0)
                    places[node.id] = min(place, places.get(node.id, place))
            own = dict(self._comprehended(function))
            for node in ast.walk(function):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                    yield self._one(node, places, own)

    def _comprehended(
        self, function: ast.FunctionDef
    ) -> Iterator[tuple[str, tuple[Place, Place]]]:
        """Names that only a comprehension knows."""
        for node in ast.walk(function):
            if isinstance(node, (ast.GeneratorExp, ast.ListComp)):
                for clause in node.generators:
                    for name in ast.walk(clause.target):
                        if isinstance(name, ast.Name):
                            yield name.id, _span(node)

    def _one(
        self,
        node: ast.Name,
        places: dict[str, Place],
        own: dict[str, tuple[Place, Place]],
    ) -> tuple[Place, tuple[str, ...]]:
        place = (node.lineno, node.col_offset)
        if node.id not in places:
            return place, ()
        choices = []
        for name, first in places.items():
            begin, end = own.get(name, ((first[0] + 1, 0), (1 << 30, 0)))
            if first == (0, 0):
                begin = first
            if (
                name != node.id
                and begin <= place < end
                and _kind(name) == _kind(node.id)
            ):
                choices.append(name)
        return place, tuple(sorted(choices))


def _span(node: ast.AST) -> tuple[Place, Place]:
    assert isinstance(node, (ast.expr, ast.stmt))
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)


def _kind(name: str) -> str:
    """What a name of lab 01 stands for."""
    if name.isupper():
        return "size"
    if name in ALONE:
        return name
    return next((kind for kind in KINDS if name in kind.split()), "tensor")


# ---- the draw ------------------------------------------------------------------------


def sources(labs: Sequence[str] = LABS, names: Sequence[str] = OPERATORS) -> list[Path]:
    """The rungs that are mutated."""
    folders = [ROOT / "labs" / lab / name for lab in labs for name in names]
    return [
        file for folder in folders for file in sorted(folder.glob("[0-9][0-9]_*.*"))
    ]


def eligible(file: Path) -> list[Token]:
    """Every token of a rung that may be drawn."""
    text = file.read_text()
    read = PythonFile(text) if file.suffix == ".py" else CFile(text)
    return list(read.eligible())


def lot(*words: object, seed: int = SEED) -> int:
    """A number that looks random and depends on these words only."""
    text = " ".join(map(str, (seed, *words)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest(), "big")


def draw(
    files: list[Path],
    count: int,
    letter: str,
    *,
    seed: int = SEED,
    least: int = 0,
    taken: Taken = (),
) -> list[Mutation]:
    """The mutations: `least` of every file and the rest by its share of the tokens, no
    token twice and none that is `taken`. Their ids begin with the letter.
    """
    draws = functools.partial(lot, seed=seed)
    tokens = {str(file.relative_to(ROOT)): eligible(file) for file in files}
    drawn = []
    sizes = {file: len(found) for file, found in tokens.items()}
    for file, share in _shares(sizes, count - least * len(files)).items():
        free = [t for t in tokens[file] if (file, t.line, t.column) not in taken]
        free.sort(key=lambda t: draws("drawn", file, t.line, t.column))
        for token in free[: least + share]:
            pick = draws("becomes", file, token.line, token.column)
            new = token.choices[pick % len(token.choices)]
            drawn.append((file, token.line, token.column, token.text, new))
    return [
        Mutation(f"{letter}{i:03}", *fields)
        for i, fields in enumerate(sorted(drawn), 1)
    ]


def _shares(sizes: dict[str, int], count: int) -> dict[str, int]:
    """`count` divided in proportion, the largest remainders rounded up."""
    whole = sum(sizes.values())
    shares = {name: count * size // whole for name, size in sizes.items()}
    missing = count - sum(shares.values())
    for name in sorted(sizes, key=lambda name: -(count * sizes[name] % whole))[
        :missing
    ]:
        shares[name] += 1
    return shares


def listing(files: list[Path], drawn: list[Mutation], head: dict[str, object]) -> str:
    """What a file of drawn mutations holds: one a line, and the files' hashes."""
    names = [str(file.relative_to(ROOT)) for file in files]
    recorded = {
        **head,
        "sha256": dict(zip(names, map(fingerprint, files), strict=True)),
    }
    lines = ",\n    ".join(json.dumps(asdict(mutation)) for mutation in drawn)
    text = json.dumps(recorded, indent=2).removesuffix("\n}")
    return f'{text},\n  "mutations": [\n    {lines}\n  ]\n}}\n'


def record(
    files: list[Path] | None = None, count: int = COUNT, letter: str = "m"
) -> str:
    """What drawn.json holds, or a list over other files."""
    files = files or sources()
    counts = {str(file.relative_to(ROOT)): len(eligible(file)) for file in files}
    head: dict[str, object] = {"seed": SEED, "eligible": counts}
    return listing(files, draw(files, count, letter), head)


def committed(file: Path = DRAWN) -> tuple[list[Mutation], dict[str, str]]:
    """The mutations of a list, and the fingerprints of the files drawn from."""
    data = json.loads(file.read_text())
    return [Mutation(**entry) for entry in data["mutations"]], data["sha256"]


def changed(hashes: dict[str, str]) -> list[str]:
    """The files whose code is not as it was when the mutations were drawn."""
    return [
        name for name, digest in hashes.items() if fingerprint(ROOT / name) != digest
    ]


def kept(file: Path, text: str, *, check: bool) -> int:
    """Write the list, or compare it with what would be drawn: 1 if it differs."""
    if not check:
        file.write_text(text)
        return 0
    same = file.is_file() and file.read_text() == text
    print(f"{file.name}{' is up to date' if same else ': draw again'}")
    return 0 if same else 1


def main() -> int:
    """Write drawn.json, or compare it with what would be drawn."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    return kept(DRAWN, record(), check=parser.parse_args().check)


if __name__ == "__main__":
    sys.exit(main())
