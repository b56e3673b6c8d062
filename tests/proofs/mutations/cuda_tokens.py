# SPDX-License-Identifier: MIT
"""The tokens of a CUDA rung that may be mutated, and what each may become.

Read by draw_cuda.py, which says what is drawn. This is no compiler: it knows our style
(one blank around operators of two sides, none around those of types) and the few types
that rungs use.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tests.proofs.mutations.scan import Tokens

COMPARE = {
    "<": ("<=", ">"),
    "<=": ("<", ">"),
    ">": (">=", "<"),
    ">=": (">", "<"),
    "==": ("!=",),
    "!=": ("==",),
}
OPERATORS = {
    "+": ("-", "*"),
    "-": ("+",),
    "*": ("+", "/"),
    "/": ("*", "%"),
    "%": ("/", "+"),
    "<<": (">>",),
    ">>": ("<<",),
    "&": ("|",),
    "|": ("&",),
    "^": ("+", "|"),
    "+=": ("-=", "="),
    "-=": ("+=",),
    "*=": ("+=",),
    "/=": ("*=",),
}
FIELDS = {
    "x": ("y",),
    "y": ("x",),
    "rows": ("columns",),
    "columns": ("rows",),
    "row_stride": ("column_stride",),
    "column_stride": ("row_stride",),
    "size": ("stride",),
    "stride": ("size",),
    "stride_h": ("stride_w", "dilation_h"),
    "stride_w": ("stride_h", "dilation_w"),
    "padding_h": ("padding_w",),
    "padding_w": ("padding_h",),
    "dilation_h": ("dilation_w", "stride_h"),
    "dilation_w": ("dilation_h", "stride_w"),
}
SPECIAL = {
    "threadIdx": ("blockIdx",),
    "blockIdx": ("threadIdx",),
    "continue": ("break",),
    "break": ("continue",),
}
SHUFFLES = {
    "__shfl_down_sync": ("__shfl_up_sync", "__shfl_xor_sync"),
    "__shfl_up_sync": ("__shfl_down_sync",),
    "__shfl_xor_sync": ("__shfl_down_sync",),
    "__shfl_sync": ("__shfl_down_sync",),
}

_TOKEN = re.compile(
    r"(?P<skip>//[^\n]*|/\*.*?\*/|\s+|^[ \t]*\#(?:[^\n\\]|\\.|\\\n)*)"
    r"|(?P<name>[A-Za-z_]\w*)|(?P<number>\d[\w.]*)"
    r"|(?P<string>\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')"
    r"|(?P<op><<<|>>>|<<=|>>=|->|::|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]="
    r"|[-+*/%<>=!?:;,.(){}\[\]&|^~])",
    re.DOTALL | re.MULTILINE,
)
_BARRIER = re.compile(
    r"(?:\w+::)?(?:__sync(?:threads|warp)\w*|__threadfence\w*|cp_async_wait\w*"
    r"|cp_async_commit|__pipeline_(?:wait|commit)\w*)(?:<[^<>\n]*>)?"
    r"\((?:[^()\n]|\([^()\n]*\))*\);"
)
_TYPE = re.compile(r"int|unsigned|bool|real|accum|float|double|half|char|\w+_t|pack")
_WORDS = {"const", "static", "__restrict__", "__shared__", "__grid_constant__"}
_WORDS |= {"volatile", "constexpr", "inline", "extern"}
_ENDS = (";", ",", "=", ")", "[", ":")
_INTEGERS = ("int", "unsigned", "int64_t", "int32_t", "uint32_t", "size_t")
_NO_CODE = ("__launch_bounds__", "static_assert", "alignas", "__align__")


@dataclass(frozen=True)
class Token:
    """A piece of a file that may be drawn."""

    kind: str
    line: int
    column: int
    text: str
    choices: tuple[str, ...]


@dataclass(frozen=True)
class Variable:
    """Where its name means it: tokens [begin, end)."""

    name: str
    type: tuple[str, int, bool]  # group of types, stars and brackets, capitals
    begin: int
    end: int
    constant: bool


class CudaFile(Tokens):
    """The tokens of a .cu file, and what is declared in it."""

    def __init__(self, text: str) -> None:
        super().__init__(text, _TOKEN)
        self.variables: list[Variable] = []
        self.declared: set[int] = set()
        self._declare()
        self.hidden = self._hidden()
        self.kernels = list(self._kernels())

    def eligible(self) -> Iterator[Token]:
        """Everything that may be drawn, with what it may become."""
        dropped = list(self._barriers())
        yield from dropped
        within = {(t.line, c) for t in dropped for c in range(t.column, t.column + 200)}
        for i in range(len(self.tokens)):
            line, column = self._place(self.at[i])
            if (line, column) in within or i in self.hidden:
                continue
            found = self._choices(i)
            if found and found[1]:
                yield Token(found[0], line, column, self.tokens[i], found[1])

    # ---- what becomes what -----------------------------------------------------------

    def _barriers(self) -> Iterator[Token]:
        starts = {at: i for i, at in enumerate(self.at)}
        for match in _BARRIER.finditer(self.text):
            if match.start() in starts:  # not in a comment
                kind = "wait" if "cp_async" in match[0] else "barrier"
                yield Token(kind, *self._place(match.start()), match[0], (";",))

    def _choices(self, i: int) -> tuple[str, tuple[str, ...]] | None:
        text, kind = self.tokens[i], self.kinds[i]
        if kind == "number":
            if text.startswith("0x"):
                return "mask", (hex(int(text.rstrip("uUlL"), 16) >> 1) + "u",)
            return "number", _number(text)
        if kind == "op":
            return self._operator(i)
        if kind != "name" or i in self.declared:
            return None
        if text in SHUFFLES:
            return "mask", SHUFFLES[text]
        if text in SPECIAL:
            return "name", SPECIAL[text]
        if self.tokens[i - 1] in (".", "->"):
            return "name", FIELDS.get(text, ())
        if self.tokens[i + 1] in ("(", "::", "<"):
            return None
        return "name", self._names(i)

    def _operator(self, i: int) -> tuple[str, tuple[str, ...]] | None:
        text = self.tokens[i]
        spaced = self.text[self.at[i] - 1] == " " and (
            self.text[self.at[i] + len(text)] in " \n"
        )
        if text == "(" and self.tokens[i - 1] == "if":
            after = self.tokens[self.partner[i] + 1]
            leaves = after in ("return", "continue", "break")
            return "predicate", ("(false && " if leaves else "(true || ",)
        if not spaced:  # a template's bracket, a sign, a star of a type
            return None
        if text in COMPARE:
            return "compare", COMPARE[text]
        if text == "?":
            return "predicate", ("|| true ?",)
        if text in ("&&", "||"):
            return "predicate", ("||" if text == "&&" else "&&",)
        return "operator", OPERATORS.get(text, ())

    def _names(self, i: int) -> tuple[str, ...]:
        """Other variables of the same type that are known here."""
        variables = [v for v in self.variables if v.begin <= i < v.end]
        mine = [v for v in variables if v.name == self.tokens[i]]
        if not mine:
            return ()
        written = re.fullmatch(r"[-+*/%&|^]?=|\+\+|--", self.tokens[i + 1])
        found = {
            v.name
            for v in variables
            if v.type == mine[-1].type and not (written and v.constant)
        }
        return tuple(sorted(found - {self.tokens[i]}))

    def _hidden(self) -> set[int]:
        """Tokens that say something to the compiler alone."""
        found: set[int] = set()
        for i, text in enumerate(self.tokens):
            if text in _NO_CODE and self.tokens[i + 1] == "(":
                found |= set(range(i, self.partner[i + 1] + 1))
            if text == "<<<":  # 0 bytes of dynamic shared memory, which nobody uses
                end = self.tokens.index(">>>", i)
                found |= {k for k in range(i, end) if self.tokens[k] == "0"}
        return found

    def in_kernel(self, line: int, column: int) -> bool:
        """Whether a place is in a function of the device."""
        at = sum(map(len, self.text.splitlines(keepends=True)[: line - 1])) + column
        return any(begin <= at < end for begin, end in self.kernels)

    def _kernels(self) -> Iterator[tuple[int, int]]:
        """The bodies of functions that run on the device."""
        for i, text in enumerate(self.tokens):
            if text in ("__global__", "__device__"):
                opening = self.tokens.index("{", i)
                yield self.at[opening], self.at[self.partner[opening]]

    def _place(self, at: int) -> tuple[int, int]:
        before = self.text[:at]
        return before.count("\n") + 1, at - (before.rfind("\n") + 1)

    # ---- declarations ----------------------------------------------------------------

    def _declare(self) -> None:
        """Note every variable: parameters, locals, constants of enums."""
        i = 0
        while i < len(self.tokens):
            if self.tokens[i] == "enum":
                i = self._constants(i)
            elif self.tokens[i] == "typedef":
                i = self.tokens.index(";", i)
            elif _TYPE.fullmatch(self.tokens[i]) and self.tokens[i - 1] not in ".->":
                i = self._declarators(i)
            else:
                i += 1

    def _constants(self, i: int) -> int:
        opening = self.tokens.index("{", i)
        closing = self.partner[opening]
        at = opening + 1
        while at < closing:
            name = self.tokens[at]
            self.declared.add(at)
            while self.tokens[at] not in (",", "}"):
                at = self.partner.get(at, at) + 1
            end = self._scope(i)
            self.variables.append(
                Variable(name, ("int", 0, True), at, end, constant=True)
            )
            at += 1
        return opening + 1  # their values are code

    def _declarators(self, i: int) -> int:
        """Names declared with the type at `i`; returns where to read on."""
        base = self.tokens[i]
        base = "int" if base in _INTEGERS else "real" if base == "accum" else base
        first = i
        while first > 0 and self.tokens[first - 1] in _WORDS:
            first -= 1
        constant = (
            "const" in self.tokens[first:i] or "constexpr" in self.tokens[first:i]
        )
        i += 1
        while True:
            stars = 0
            while self.tokens[i] in ("*", "&", "const", "__restrict__"):
                stars += self.tokens[i] != "const" and self.tokens[i] != "__restrict__"
                i += 1
            if self.kinds[i] != "name" or self.tokens[i + 1] not in _ENDS:
                return i  # a cast, a function's name, another type
            name, after = i, i + 1
            while self.tokens[after] == "[":
                stars += 1
                after = self.partner[after] + 1
            self.declared.add(name)
            while self.tokens[after] not in (",", ";", ")", ":", ">"):
                after = self.partner.get(after, after) + 1
            text = self.tokens[name]
            pointed = f"const {base}" if constant and stars else base
            kind = (pointed, stars, text.isupper() and base == "int")
            fixed = constant and not stars
            self.variables.append(Variable(text, kind, after, self._scope(name), fixed))
            again = self.tokens[after] == "," and self.kinds[after + 1] != "string"
            if not again or self._is_type(after + 1):
                return name + 1
            i = after + 1

    def _is_type(self, i: int) -> bool:
        return self.tokens[i] in _WORDS or bool(_TYPE.fullmatch(self.tokens[i]))

    def _scope(self, i: int) -> int:
        """The end of what a name declared at `i` is known in."""
        around = [a for a, b in self.partner.items() if a < i < b]
        inner = max(around, default=-1)
        if inner < 0:
            if self.tokens[max(0, i - 3) : i].count("<"):  # of a template
                return self.partner[self.tokens.index("{", i)]
            return len(self.tokens)
        if self.tokens[inner] != "(":
            return self.partner[inner]
        after = self.partner[inner] + 1
        while self.tokens[after] not in ("{", ";"):
            after = self.partner.get(after, after) + 1
        return self.partner.get(after, after) + 1


def _number(text: str) -> tuple[str, ...]:
    """One more and one less; half of a power of two."""
    digits = text.rstrip("uUlLfF")
    if not digits.isdigit():
        return ()
    value = int(digits)
    found = [value + 1] + ([value - 1] if value else [])
    if value >= 8 and value & (value - 1) == 0:
        found.append(value // 2)
    return tuple(str(n) + text[len(digits) :] for n in found)
