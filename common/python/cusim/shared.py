# SPDX-License-Identifier: MIT
"""Rewrites __shared__ declarations as references into the block's shared memory.

    __shared__ float a[8], b;       struct cusim_a { float a[8]; };
                                    static ::cusim::Shared cusim_site_a = {"a", ...};
                                    auto &a = ::cusim::shared<cusim_a>(cusim_site_a).a;
                                    ... and the same for b
    extern __shared__ float c[];    using cusim_c = float;
                                    cusim_c *const c =
                                        (cusim_c *)::cusim::dynamic_shared();

In CUDA these names have static storage, so a lambda uses them without a capture. Here
they are local. So lambdas that use them get `&a` in their capture list.
"""

from __future__ import annotations

from dataclasses import dataclass

from cusim.edits import Edits
from cusim.scopes import Scope, Scopes, statement_start
from cusim.tokens import Token, Tokens, angle_close, as_written, split_commas

SHARED = "__cusim_shared__"

_DROPPED = (SHARED, "static", "extern", "inline", "__cusim_device__")
_NUMBERS = ("bool", "char", "short", "int", "long", "float", "double", "_Float16")
_SIGNS = ("signed", "unsigned", "wchar_t", "char16_t", "char32_t", "__int128")
_BUILTIN = (*_NUMBERS, *_SIGNS, "void", "auto")
_QUALIFIERS = ("const", "volatile", "typename", "constexpr", "mutable", "register")
_ALIGNED = ("__attribute__", "__attribute", "alignas")
_CLASS = ("struct", "class", "union", "enum")


@dataclass(frozen=True)
class _Name:
    """A shared variable, to be found again in lambdas."""

    text: str
    at: int  # token of its declaration
    scope: Scope


def rewrite_shared(tokens: Tokens, scopes: Scopes, edits: Edits) -> None:
    """Every shared declaration of the file, and the lambdas that use one."""
    names: list[_Name] = []
    done = -1
    for i, token in enumerate(tokens.all):
        if token.text == SHARED and i > done:
            declaration = _Declaration(tokens, edits, i, scopes.of[i])
            names += declaration.rewrite()
            done = declaration.end
    _capture(tokens, edits, names)


class _Declaration:
    """One declaration with all its declarators."""

    def __init__(self, tokens: Tokens, edits: Edits, marker: int, scope: Scope):
        self.tokens, self.edits, self.scope = tokens, edits, scope
        self.start = statement_start(tokens, marker)
        while tokens.is_text(self.start, "case") or tokens.is_text(self.start + 1, ":"):
            self.start = self._after_label(self.start)
        self.end = self._find_end(self.start)
        self.marker = tokens.all[marker]

    def _after_label(self, i: int) -> int:
        while not self.tokens.is_text(i, ":"):
            i += 1
        return i + 1

    def _find_end(self, i: int) -> int:
        """The `;`, or the token where it should have been."""
        while i < len(self.tokens.all) - 1:
            text = self.tokens.all[i].text
            if text in "([{":
                i = self.tokens.pair.get(i, i)
            elif text in (";", "}", ")"):
                return i
            i += 1
        return i

    def rewrite(self) -> list[_Name]:
        tokens, edits = self.tokens, self.edits
        first = self._after_type()
        declarators = split_commas(tokens, first, self.end)
        dynamic = any(tokens.is_text(i, "extern") for i in range(self.start, first))
        if not declarators or not tokens.is_text(self.end, ";"):
            edits.refuse(self.marker, "a __shared__ declaration without name or ';'")
            return []
        names = [self._name(a, b) for a, b in declarators]
        if None in names:
            edits.refuse(self.marker, "a __shared__ declaration without a name")
            return []
        name = tokens.all[names[0] or 0].text
        if not self.scope.local and not (dynamic and self.scope.kind == "namespace"):
            edits.refuse(
                self.marker,
                f"__shared__ '{name}' is declared outside of a function. Declare it in "
                "the kernel that uses it, and pass a pointer to other functions",
            )
            return []
        parts = [self._hoisted(first)]
        line = tokens.all[first - 1].line
        for at, (a, b) in zip(names, declarators):
            assert at is not None
            parts.append("\n" * max(0, tokens.all[at].line - line))
            line = max(line, tokens.all[at].line)
            write = self._dynamic if dynamic else self._static
            parts.append(write(first, at, a, b))
        self._put("".join(parts))
        return [
            _Name(tokens.all[at].text, at, self.scope) for at in names if at is not None
        ]

    # ---- the parts of the declaration ----------------------------------------------

    def _after_type(self) -> int:
        """The first token behind the type: of the first declarator."""
        tokens, i, has_type = self.tokens, self.start, False
        while i < self.end:
            token = tokens.all[i]
            if token.text in _ALIGNED or token.text == "decltype":
                has_type = has_type or token.text == "decltype"
                i = tokens.pair.get(i + 1, i) + 1
            elif token.text == "[" and tokens.is_text(i + 1, "["):
                i = tokens.pair.get(i, i) + 1
            elif token.text in _DROPPED or token.text in _QUALIFIERS:
                i += 1
            elif token.text in _BUILTIN:
                has_type, i = True, i + 1
            elif token.text in _CLASS:
                has_type, i = True, self._after_class(i)
            elif not has_type and (token.kind == "word" or token.text == "::"):
                has_type, i = True, self._after_name(i)
            else:
                return i
        return i

    def _after_class(self, i: int) -> int:
        i += 1
        while self.tokens.is_text(i, *_ALIGNED):
            i = self.tokens.pair.get(i + 1, i) + 1
        if self.tokens.is_word(i) or self.tokens.is_text(i, "::"):
            i = self._after_name(i)
        if self.tokens.is_text(i, ":"):  # base classes
            while i < self.end and not self.tokens.is_text(i, "{"):
                i += 1
        if self.tokens.is_text(i, "{"):
            i = self.tokens.pair.get(i, i) + 1
        return i

    def _after_name(self, i: int) -> int:
        """Past `a::template b<c>::d`."""
        tokens = self.tokens
        if tokens.is_text(i, "::"):
            i += 1
        while True:
            i += 1  # the word
            if tokens.is_text(i, "<"):
                close = angle_close(tokens, i)
                i = i if close is None else close + 1
            if not tokens.is_text(i, "::"):
                return i
            i += 2 if tokens.is_text(i + 1, "template") else 1

    def _name(self, a: int, b: int) -> int | None:
        for i in range(a, b):
            token = self.tokens.all[i]
            if token.kind == "word" and token.text not in (
                *_QUALIFIERS,
                "__restrict__",
                "__restrict",
            ):
                return i
        return None

    def _type_text(self, first: int, *, aligned: bool) -> str:
        """The type without storage words; a class that is defined here by its name."""
        tokens, parts = self.tokens, []
        i = self.start
        while i < first:
            token = tokens.all[i]
            if token.text in _DROPPED:
                i += 1
            elif token.text in _ALIGNED and not aligned:
                i = tokens.pair.get(i + 1, i) + 1
            elif token.text in _CLASS and self._is_defined(i):
                parts.append(" " + self._class_name(i) + " ")
                i = self._after_class(i)
            else:
                spaced = "" if tokens.joined(i) else " "
                parts.append(spaced + token.text)
                i += 1
        return "".join(parts).strip()

    def _is_defined(self, i: int) -> bool:
        return self.tokens.is_text(self._after_class(i) - 1, "}")

    def _class_name(self, i: int) -> str:
        at = i + 1
        while self.tokens.is_text(at, *_ALIGNED):
            at = self.tokens.pair.get(at + 1, at) + 1
        token = self.tokens.all[at]
        return token.text if token.kind == "word" else f"cusim_type_{token.line}"

    def _hoisted(self, first: int) -> str:
        """The definition of a class that the declaration holds, as it is written."""
        for i in range(self.start, first):
            token = self.tokens.all[i]
            if token.text in _CLASS and self._is_defined(i):
                end = self._after_class(i)
                brace = self.tokens.pair[end - 1]
                head = self.tokens.text[token.start : self.tokens.all[brace].start]
                body = self.tokens.text[
                    self.tokens.all[brace].start : self.tokens.all[end - 1].end
                ]
                name = self._class_name(i)
                named = any(self.tokens.is_text(j, name) for j in range(i, brace))
                return f"{head}{'' if named else name} {body}; "
        return ""

    # ---- what is written instead ---------------------------------------------------

    def _static(self, first: int, at: int, a: int, b: int) -> str:
        name, token = self.tokens.all[at].text, self.tokens.all[at]
        for i in range(at + 1, b):
            if self.tokens.is_text(i, "=", "{") or (
                self.tokens.is_text(i, "(") and i == at + 1
            ):
                self.edits.refuse(
                    token,
                    f"__shared__ '{name}' cannot get a value in its declaration: let "
                    "one thread assign the value, then call __syncthreads()",
                )
        declared = as_written(self.tokens.all[a:b])
        kind = self._type_text(first, aligned=True)
        return (
            f"struct cusim_{name} {{ {kind} {declared}; }}; "
            f'static ::cusim::Shared cusim_site_{name} = {{"{name}", {token.file}, '
            f"{token.line}}}; [[maybe_unused]] auto &{name} = "
            f"::cusim::shared<cusim_{name}>(cusim_site_{name}).{name}; "
        )

    def _dynamic(self, first: int, at: int, a: int, b: int) -> str:
        """`T name[]...`: a pointer to its elements; without []: a reference."""
        tokens, name = self.tokens, self.tokens.all[at].text
        before = as_written(tokens.all[a:at])
        after = at + 1
        array = tokens.is_text(after, "[")
        if array:
            after = tokens.pair.get(after, after) + 1
        rest = as_written(tokens.all[after:b])
        kind = f"{self._type_text(first, aligned=False)} {before}{rest}".strip()
        static = "" if self.scope.local else "static "
        where = f"(cusim_{name} *)::cusim::dynamic_shared()"
        value = f"*const {name} = {where}" if array else f"&{name} = *{where}"
        return (
            f"using cusim_{name} = {kind}; [[maybe_unused]] {static}"
            f"cusim_{name} {value}; "
        )

    def _put(self, text: str) -> None:
        """`text` in place of the declaration, what follows on its old line."""
        tokens = self.tokens
        first, last = tokens.all[self.start], tokens.all[self.end]
        if tokens.has_marker(first.start, last.end):
            text += f"\n# {last.line} {last.file}\n"
        else:
            lines = tokens.text.count("\n", first.start, last.end)
            text += "\n" * (lines - text.count("\n"))
        self.edits.replace_range(first.start, last.end, text)


# ---- lambdas -------------------------------------------------------------------------


def _capture(tokens: Tokens, edits: Edits, names: list[_Name]) -> None:
    if not names:
        return
    for i, token in enumerate(tokens.all):
        if token.text != "[" or not _is_lambda(tokens, i):
            continue
        close = tokens.pair[i]
        body = _lambda_body(tokens, close + 1)
        if body is None or (tokens.is_text(i + 1, "&") and not tokens.is_word(i + 2)):
            continue  # captures everything by reference
        said = {t.text for t in tokens.all[i:body]}
        inside = range(body, tokens.pair[body])
        wanted = {
            name.text: None
            for name in names
            if name.at < i < name.scope.close
            and name.text not in said
            and any(
                tokens.is_text(j, name.text)
                and not tokens.is_text(j - 1, ".", "->", "::")
                for j in inside
            )
        }
        if wanted:
            comma = ", " if close > i + 1 else ""
            text = comma + ", ".join(f"&{name}" for name in wanted)
            edits.insert(tokens.all[close], text)


def _is_lambda(tokens: Tokens, i: int) -> bool:
    before: Token | None = tokens.all[i - 1] if i else None
    if i not in tokens.pair or tokens.is_text(i + 1, "["):
        return False
    if before is None or before.kind == "mark":
        return not tokens.is_text(i - 1, ")", "]", "[", ">")
    return before.text in ("return", "co_return", "case", "else", "do")


def _lambda_body(tokens: Tokens, i: int) -> int | None:
    """The `{` of a lambda whose captures end before token `i`."""
    while i < len(tokens.all):
        text = tokens.all[i].text
        if text == "{":
            return i if i in tokens.pair else None
        if text == "(":
            i = tokens.pair.get(i, i)
        elif text in (";", ")", "]", "}", "="):
            return None
        i += 1
    return None
