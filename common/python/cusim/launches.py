# SPDX-License-Identifier: MIT
"""Rewrites launches: k<<<grid, block, shared, stream>>>(arguments) becomes a call.

`::cusim::launch` takes one function and converts the arguments as any call does.
Sometimes the name does not say which function is meant: overloads, deduced template
arguments, default arguments. Then `::cusim::launch` gets a lambda with the call.
"""

from __future__ import annotations

from cusim.edits import Edits
from cusim.scopes import Kernel, Scopes
from cusim.tokens import Token, Tokens, angle_open, as_written, split_commas

_CONTROL = ("if", "while", "for", "switch", "constexpr", "catch")
_NOT_CALLED = (*_CONTROL, "return", "else", "do", "case", "throw", "co_return")
_QUIET = "__attribute__((no_sanitize_thread))"  # what it reads is not k's
_NULL = ("0", "NULL", "__null", "nullptr")


def rewrite_launches(tokens: Tokens, scopes: Scopes, edits: Edits) -> None:
    """Every launch of the file."""
    i = 0
    while i < len(tokens.all):
        if tokens.all[i].text == "<" and tokens.run(i, "<") >= 3:
            if not tokens.is_text(i - 1, "operator"):
                _Launch(tokens, scopes, edits, i).rewrite()
            i += tokens.run(i, "<")
        else:
            i += 1


class _Launch:
    """One launch; `open` is the first `<` of its `<<<`."""

    def __init__(self, tokens: Tokens, scopes: Scopes, edits: Edits, open_at: int):
        self.tokens, self.scopes, self.edits, self.open = tokens, scopes, edits, open_at

    def rewrite(self) -> None:
        tokens, edits = self.tokens, self.edits
        at = tokens.all[self.open]
        start = callee_start(tokens, self.open)
        close = _config_close(tokens, self.open + 3)
        if start is None or close is None or close + 3 not in tokens.pair:
            edits.refuse(
                at,
                "a launch is written kernel<<<grid, block>>>(arguments), "
                "but a part is missing here",
            )
            return
        if self.scopes.of[self.open].on_device:
            edits.refuse(
                at,
                "a kernel launches another one (dynamic parallelism), which cusim does "
                "not run: launch it from the host, after this kernel",
            )
            return
        callee = tokens.all[start : self.open]
        name = spelled(callee).replace("\\", "\\\\").replace('"', '\\"')
        arguments = split_commas(tokens, close + 4, tokens.pair[close + 3])
        expanded = any(tokens.is_text(b - 1, "...") for _, b in arguments)
        first = tokens.all[start]
        edits.drop(tokens.all[close])
        edits.drop(tokens.all[close + 1])
        edits.replace(tokens.all[close + 2], "))")
        edits.drop(at)
        edits.drop(tokens.all[self.open + 1])
        if self._is_one_function(None if expanded else len(arguments)):
            edits.insert(first, "::cusim::launch(")
            middle = ""
        else:
            capture = "&" if self.scopes.of[self.open].local else ""
            taken, passed = self._lambda(arguments)
            head = f"::cusim::launch_any([{capture}]({taken}) {_QUIET} {{ "
            edits.insert(first, head)
            middle = f"({passed}); }}"
        edits.replace(
            tokens.all[self.open + 2], f'{middle}, "{name}", ::cusim::config('
        )

    def _is_one_function(self, count: int | None) -> bool:
        """Whether the name, as it is written, can mean one function only.

        `count` arguments are passed to it, None if that is not known.
        """
        tokens, end = self.tokens, self.open
        given: int | None = None
        while tokens.is_text(end - 1, ")") and end - 1 in tokens.pair:
            before = tokens.pair[end - 1] - 1
            if _is_called(tokens, before + 1):
                break
            end -= 1  # (k)
        if tokens.is_text(end - 1, ">"):
            opening = angle_open(tokens, end - 1)
            assert opening is not None  # callee_start has seen it
            parts = split_commas(tokens, opening + 1, end - 1)
            if any(tokens.is_text(b - 1, "...") for _, b in parts):
                return not tokens.is_word(opening - 1)
            given, end = len(parts), opening
        name = tokens.all[end - 1]
        if name.kind != "word":
            return True  # a call result, a choice in brackets: a pointer
        kernels = self.scopes.kernels.get(name.text, [])
        if not kernels:
            return True  # a variable or a parameter
        if _overloaded(kernels) or not _suffices(kernels[0], given):
            return False
        needed = min(kernel.required for kernel in kernels)
        most = max(len(kernel.parameters) for kernel in kernels)
        return count is None or not needed <= count < most  # no default arguments

    def _lambda(self, arguments: list[tuple[int, int]]) -> tuple[str, str]:
        """Parameters of the lambda, and what it calls the kernel with.

        A null pointer and a braced list lose their meaning as parameters of a
        template; they move into the call.
        """
        tokens = self.tokens
        whole = [tokens.all[a:b] for a, b in arguments]
        moved = [_is_null(part) or _is_braced(part) for part in whole]
        if not any(moved) or any(part and part[-1].text == "..." for part in whole):
            return "auto... cusim_a", "cusim_a..."
        taken, passed = [], []
        for i, part in enumerate(whole):
            if not moved[i]:
                taken.append(f"auto cusim_{i}")
                passed.append(f"cusim_{i}")
                continue
            taken.append("auto")
            passed.append(as_written(part))
            if _is_braced(part):
                if any(t.text in ("(", "=", "++", "--") for t in part):
                    self.edits.refuse(
                        part[0],
                        "a template or an overloaded kernel gets a braced list with "
                        "calls in it: write its type before the brace",
                    )
                self.edits.replace(part[0], "0")
                for token in part[1:]:
                    self.edits.drop(token)
        return ", ".join(taken), ", ".join(passed)


def _overloaded(kernels: list[Kernel]) -> bool:
    """Whether two kernels of one scope share their name but not their parameters."""
    seen: dict[str, tuple[object, ...]] = {}
    for kernel in kernels:
        key = (kernel.parameters, kernel.template is None, kernel.pack)
        if seen.setdefault(kernel.path, key) != key:
            return True
    kinds = {(k.template is None, k.pack) for k in kernels}
    return len(kinds) > 1


def _suffices(kernel: Kernel, given: int | None) -> bool:
    """Whether so many template arguments say which function of a template is meant."""
    if kernel.template is None:
        return True
    return given is not None and not kernel.pack and given >= kernel.template


def _is_null(part: list[Token]) -> bool:
    return len(part) == 1 and part[0].text in _NULL


def _is_braced(part: list[Token]) -> bool:
    return len(part) > 1 and part[0].text == "{"


def spelled(tokens: list[Token]) -> str:
    """Tokens in a row, with a space only where words would grow together."""
    text = ""
    for token in tokens:
        wordy = token.text[0].isalnum() or token.text[0] == "_"
        if text.endswith(",") or (wordy and (text[-1:].isalnum() or text[-1:] == "_")):
            text += " "
        text += token.text
    return text


def callee_start(tokens: Tokens, end: int) -> int | None:
    """The first token of the kernel that is named before `<<<`, token `end`."""
    i = end - 1  # the last token of a part of the name
    while i >= 0:
        token = tokens.all[i]
        start: int | None
        if token.text == ">":
            start = angle_open(tokens, i)
            if start is None or not tokens.is_word(start - 1):
                return None
            start -= 1
        elif token.text in (")", "]"):
            start = tokens.pair.get(i)
            if start is None:
                return None
            if _is_called(tokens, start):
                i = start - 1
                continue
        elif token.kind == "word" and token.text not in _NOT_CALLED:
            start = i
        else:
            return None
        if tokens.is_text(start - 1, "template"):
            start -= 1
        if not tokens.is_text(start - 1, "::", ".", "->"):
            return start
        before = start - 2
        if tokens.is_text(start - 1, "::") and not (
            tokens.is_text(before, ">")
            or (tokens.is_word(before) and not tokens.is_text(before, *_NOT_CALLED))
        ):
            return start - 1  # ::k
        i = before
    return None


def _is_called(tokens: Tokens, start: int) -> bool:
    """Whether the bracket at `start` belongs to what stands before: f(x), a[i]."""
    before = start - 1
    if tokens.is_word(before):
        return not tokens.is_text(before, *_NOT_CALLED)
    if tokens.is_text(before, ">"):
        opening = angle_open(tokens, before)
        return opening is not None and tokens.is_word(opening - 1)
    if tokens.is_text(before, "]"):
        return True
    if tokens.is_text(before, ")"):
        opening = tokens.pair.get(before, before)
        inside = tokens.all[opening + 1 : before]
        if [token.text for token in inside] == ["void"]:
            return False  # a cast
        return not tokens.is_text(opening - 1, *_CONTROL)
    return False


def _config_close(tokens: Tokens, start: int) -> int | None:
    """The first `>` of the `>>>` that ends the configuration starting at `start`."""
    i, opened, candidate = start, 0, None
    while i < len(tokens.all):
        text = tokens.all[i].text
        if text in "([{" and i in tokens.pair:
            i = tokens.pair[i]
        elif text in (")", "]", "}", ";") or tokens.run(i, "<") >= 3:
            break
        elif text == "<":
            if tokens.is_text(i + 1, "<"):
                i += 1  # a shift
            elif tokens.is_word(i - 1):
                opened += 1  # a template's, or a comparison
        elif text == ">":
            count = tokens.run(i, ">")
            if count >= 3 and tokens.is_text(i + count, "("):
                candidate = i + count - 3
                if opened < count:
                    return candidate
            opened = max(0, opened - count)
            i += count - 1
        i += 1
    return candidate
