# SPDX-License-Identifier: MIT
"""Finds the scopes of a file by its braces, and its kernels.

A launch needs to know whether its kernel is one function, and whether it is in host
code. A `__shared__` declaration needs to know whether it is in a function.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cusim.tokens import Tokens, angle_close, split_commas

GLOBAL, DEVICE, HOST = "__cusim_global__", "__cusim_device__", "__cusim_host__"

_CLASS = ("struct", "class", "union", "enum")
_ATTRIBUTES = ("__attribute__", "__attribute", "alignas", "decltype", "noexcept")
_LEADING = ("static", "const", "constexpr", "volatile", "typedef", "extern", "inline")
_ACCESS = ("public", "private", "protected")


@dataclass(frozen=True)
class Scope:
    """The inside of one pair of braces."""

    kind: str  # "namespace", "class", "function", "block" or "value"
    name: str
    close: int  # the token of `}`
    parent: Scope | None
    device: bool = False  # a function that can only run on the device

    @property
    def local(self) -> bool:
        """Whether it is the body of a function or a part of one."""
        return self.kind in ("function", "block")

    @property
    def on_device(self) -> bool:
        """Whether it is part of a function that can only run on the device."""
        return self.device or (self.parent is not None and self.parent.on_device)

    @property
    def path(self) -> str:
        """The namespaces and classes around, as in `a::b`."""
        above = self.parent.path if self.parent else ""
        return f"{above}::{self.name}" if self.name else above


@dataclass(frozen=True)
class Kernel:
    """One declaration of a kernel."""

    path: str  # of its scope
    parameters: tuple[str, ...]  # types, with names where they cannot be told apart
    required: int  # arguments without a default
    template: int | None  # template arguments without a default; None: no template
    pack: bool  # a template that takes any number of arguments


@dataclass
class Scopes:
    """The scope of each token, and all kernels by name."""

    of: list[Scope]
    kernels: dict[str, list[Kernel]] = field(default_factory=dict)


FILE = Scope("namespace", "", 1 << 60, None)


def find_scopes(tokens: Tokens) -> Scopes:
    """Walk over the braces once, and then over the kernels."""
    of: list[Scope] = []
    scope = FILE
    for i, token in enumerate(tokens.all):
        while i >= scope.close and scope.parent:
            scope = scope.parent
        of.append(scope)
        if token.text == "{" and token.kind == "mark" and i in tokens.pair:
            scope = _scope(tokens, i, scope)
    scopes = Scopes(of)
    for i, token in enumerate(tokens.all):
        if token.text == GLOBAL:
            _add_kernel(tokens, i, scopes)
    return scopes


def statement_start(tokens: Tokens, index: int) -> int:
    """The first token of the declaration or statement that token `index` is part of."""
    i = index - 1
    while i >= 0:
        text = tokens.all[i].text
        if text in (")", "]"):
            i = tokens.pair.get(i, i)
        elif text == "}" and tokens.is_text(i + 1, ",", "{"):
            i = tokens.pair.get(i, i)  # a member's value: `S() : a{1}, b{2} {`
        elif text in (";", "{", "}") or (text == ":" and _is_label(tokens, i)):
            return i + 1
        i -= 1
    return 0


def _is_label(tokens: Tokens, colon: int) -> bool:
    return tokens.is_text(colon - 1, *_ACCESS, "default")


def _scope(tokens: Tokens, brace: int, parent: Scope) -> Scope:
    close = tokens.pair[brace]
    start = statement_start(tokens, brace)
    i = _skip_head(tokens, start, brace)
    words = {token.text for token in tokens.all[start:brace]}
    first = tokens.all[i].text if i < brace else ""
    if first == "namespace":
        name = tokens.all[brace - 1].text.replace("namespace", "(anonymous)")
        return Scope("namespace", name, close, parent)
    if "extern" in words and tokens.all[brace - 1].kind == "string":
        return Scope("namespace", "", close, parent)
    if first in _CLASS:
        name_at = _skip_attributes(tokens, i + 1, brace)
        if not any(tokens.is_text(j, "(") for j in range(name_at, brace)):
            return Scope("class", tokens.all[name_at].text, close, parent)
    if parent.local:
        return Scope("block", "", close, parent)
    if tokens.is_text(brace - 1, ")") or "(" in words:
        device = GLOBAL in words or (DEVICE in words and HOST not in words)
        return Scope("function", "", close, parent, device)
    return Scope("value" if words & {"=", ","} or first else "block", "", close, parent)


def _skip_head(tokens: Tokens, i: int, end: int) -> int:
    """Past `template <...>`, attributes and words like static."""
    while i < end:
        text = tokens.all[i].text
        if text == "template" and tokens.is_text(i + 1, "<"):
            close = angle_close(tokens, i + 1)
            if close is None:
                return i
            i = close + 1
        elif text in _LEADING or text.startswith("__cusim_"):
            i += 1
        else:
            after = _skip_attributes(tokens, i, end)
            if after == i:
                return i
            i = after
    return i


def _skip_attributes(tokens: Tokens, i: int, end: int) -> int:
    while i < end:
        if tokens.is_text(i, *_ATTRIBUTES) and tokens.is_text(i + 1, "("):
            i = tokens.pair.get(i + 1, end) + 1
        elif tokens.is_text(i, "[") and tokens.is_text(i + 1, "["):
            i = tokens.pair.get(i, end) + 1
        else:
            break
    return i


# ---- kernels -------------------------------------------------------------------------


def _add_kernel(tokens: Tokens, marker: int, scopes: Scopes) -> None:
    name_at = _function_name(tokens, marker)
    start = statement_start(tokens, marker)
    if name_at is None:
        return
    template, pack, i = None, False, start
    while tokens.is_text(i, "template"):
        close = angle_close(tokens, i + 1) if tokens.is_text(i + 1, "<") else None
        if close is None or close == i + 2:
            return  # an instantiation or a specialization: the template is known
        parts = split_commas(tokens, i + 2, close)
        texts = [[token.text for token in tokens.all[a:b]] for a, b in parts]
        template = sum("=" not in part and "..." not in part for part in texts)
        pack = any("..." in part for part in texts)
        i = close + 1
    open_at = name_at + 1
    if not tokens.is_text(open_at, "("):
        return
    parts = split_commas(tokens, open_at + 1, tokens.pair.get(open_at, open_at + 1))
    texts = [[token.text for token in tokens.all[a:b]] for a, b in parts]
    if texts == [["void"]]:
        texts = []
    kernel = Kernel(
        scopes.of[marker].path,
        tuple(_type(part) for part in texts),
        sum("=" not in part for part in texts),
        template,
        pack,
    )
    scopes.kernels.setdefault(tokens.all[name_at].text, []).append(kernel)


def _function_name(tokens: Tokens, marker: int) -> int | None:
    """The word before the parameters of the function that `marker` declares."""
    i, name = marker + 1, None
    while i < len(tokens.all):
        after = _skip_attributes(tokens, i, len(tokens.all))
        token = tokens.all[after]
        if token.text == "(":
            return name
        if token.kind == "word":
            name = after
        elif token.text == "<":
            close = angle_close(tokens, after)
            if close is None:
                return None
            after = close
        elif token.text in (";", "{", "}", "="):
            return None
        i = after + 1
    return None


_KEYWORDS = ("int", "char", "float", "double", "long", "short", "unsigned", "bool")


def _type(parameter: list[str]) -> str:
    """A parameter without its default and, where that is certain, without its name."""
    if "=" in parameter:
        parameter = parameter[: parameter.index("=")]
    last = parameter[-1] if parameter else ""
    before = parameter[-2] if len(parameter) > 1 else ""
    named = (
        before in ("*", ">", "__restrict__", "__restrict") or before in _KEYWORDS
    ) and (last[:1].isalpha() or last[:1] == "_")
    if named and last not in (*_KEYWORDS, "const", "__restrict__", "__restrict"):
        parameter = parameter[:-1]
    return " ".join(parameter)
