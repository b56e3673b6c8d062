# SPDX-License-Identifier: MIT
"""Adds a counter to each loop, so that counts know which lanes are in the same turn.

    for (a; b; c) body      if (::cusim::Loop cusim_loop_0(0); false) {} else
                                for (a; cusim_loop_0.next(), (b); c) body
    while (b) body          ... else while (cusim_loop_0.next(), (b)) body
    do body while (b);      ... else do body while (cusim_loop_0.next(), (b));

core.h defines Loop. Some loops stay without a counter: a loop over a range, and a loop
with a declaration in its condition. A constexpr function has no counters. A function
has none if it has a goto, or a case label inside of a loop. There the order of accesses
decides which lanes belong together.
"""

from __future__ import annotations

from cusim.edits import Edits
from cusim.scopes import Scope, Scopes, statement_start
from cusim.tokens import Tokens


def mark_loops(tokens: Tokens, scopes: Scopes, edits: Edits) -> None:
    """Tell of every loop in a function."""
    fits: dict[int, bool] = {}  # by the end of a function's body
    ends = _ends_of_do(tokens)
    number = 0
    for i, token in enumerate(tokens.all):
        if token.text not in ("for", "while", "do") or i in ends.values():
            continue
        function = _function(scopes.of[i])
        if function is None:
            continue
        if function.close not in fits:
            fits[function.close] = _fits(tokens, function)
        head = ends.get(i, i) + 1
        if not fits[function.close] or not tokens.is_text(head, "("):
            continue
        condition = _condition(tokens, head, token.text)
        if condition is None:
            continue
        name = f"cusim_loop_{number}"
        edits.insert(token, f"if (::cusim::Loop {name}({number}); false) {{}} else ")
        start, end = condition
        next_call = f"{name}.next()"
        if start < end:
            edits.insert(tokens.all[start], f"{next_call}, (")
            edits.insert(tokens.all[end], ")")
        else:
            edits.insert(tokens.all[end], f"{next_call}, true")
        number += 1


def _ends_of_do(tokens: Tokens) -> dict[int, int]:
    """For each `do` its `while`."""
    ends: dict[int, int] = {}
    for i, token in enumerate(tokens.all):
        if token.text == "do" and tokens.is_text(i + 1, "{") and i + 1 in tokens.pair:
            close = tokens.pair[i + 1]
            if tokens.is_text(close + 1, "while"):
                ends[i] = close + 1
    return ends


def _function(scope: Scope | None) -> Scope | None:
    """The outermost function around."""
    found = None
    while scope:
        if scope.kind == "function":
            found = scope
        scope = scope.parent
    return found


def _fits(tokens: Tokens, function: Scope) -> bool:
    brace = tokens.pair[function.close]
    first = statement_start(tokens, brace)
    words = {token.text for token in tokens.all[first : function.close]}
    head = {token.text for token in tokens.all[first:brace]}
    return not ("goto" in words or "case" in words or head & {"constexpr", "consteval"})


def _condition(tokens: Tokens, head: int, word: str) -> tuple[int, int] | None:
    """The first token of a loop's condition and the one behind it; None: leave it."""
    close = tokens.pair.get(head)
    if close is None:
        return None
    start, end = head + 1, close
    if word == "for":
        marks = _semicolons(tokens, head + 1, close)
        if len(marks) != 2:
            return None  # over a range
        start, end = marks[0] + 1, marks[1]
    return None if _declares(tokens, start, end) else (start, end)


def _semicolons(tokens: Tokens, start: int, end: int) -> list[int]:
    """Those outside of inner brackets."""
    found, i = [], start
    while i < end:
        if tokens.all[i].text in "([{" and i in tokens.pair:
            i = tokens.pair[i]
        elif tokens.all[i].text == ";":
            found.append(i)
        i += 1
    return found


def _declares(tokens: Tokens, start: int, end: int) -> bool:
    """Whether a condition is `type name = value` and not `name = value`."""
    for i in range(start, end):
        if tokens.all[i].text == "=":
            return (
                i - start > 1
                and tokens.is_word(i - 1)
                and (tokens.is_word(i - 2) or tokens.is_text(i - 2, "*", "&", ">"))
            )
        if tokens.all[i].kind != "word" and tokens.all[i].text not in "*&:<>:,":
            return False
    return False
