# SPDX-License-Identifier: MIT
"""Proposes changes of whole statements, and changes at several places at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, groupby

from pycparser import c_ast

from grader.diagnosis.repair.in_c.c_expressions import FAMILIES
from grader.diagnosis.repair.in_c.c_file import line_of
from grader.diagnosis.repair.in_c.c_places import Place, Step
from grader.diagnosis.repair.in_c.c_proposals import (
    Function,
    Proposal,
    names_in,
    other_axis,
)
from grader.diagnosis.repair.in_c.c_types import called_name
from grader.diagnosis.repair.in_c.c_writer import plain, shown
from grader.diagnosis.repair.small_change import Edit

NEIGHBOURS = 4  # lines between the same thing for the height and for the width


def propose(function: Function) -> None:
    """Proposes all changes of a function's statements."""
    for step in function.places.steps:
        match step.node:
            case c_ast.If():
                _if(function, step)
            case c_ast.Break() | c_ast.Continue():
                _jump(function, step)
            case c_ast.FuncCall():
                _guarded(function, step, step.node)
            case c_ast.Assignment():
                _guarded(function, step, step.node.lvalue)
                _dropped(function, step, step.node.lvalue)
                _reset(function, step)
            case c_ast.UnaryOp(op="++" | "--" | "p++" | "p--"):
                _dropped(function, step, step.node.expr)
    _exchanged(function)
    _numbers_of_a_line(function)
    _variables_exchanged(function)


def _if(function: Function, step: Step) -> None:
    """A statement without its condition, and a condition that never holds."""
    node = step.node
    kind = function.types.of(node.cond, step.scope)
    if kind.kind == "other":
        return
    old = function.standing(node, f"if ({shown(node.cond)})")
    old = old or function.standing(node, "if")
    for text in ("1", "0"):
        edit = Edit(line_of(node), "without", old, f"if ({text})")
        value = f"({kind.name})({text})" if kind.number else f"(void *){text}"
        function.at_line(Proposal(edit, values=((node.cond, value),)))


def _jump(function: Function, step: Step) -> None:
    """Another jump in place of one, or none."""
    leaves = isinstance(step.node, c_ast.Break)
    old, other = ("break", "continue;") if leaves else ("continue", "break;")
    for kind, text in (("statement", other), ("without", ";")):
        edit = Edit(line_of(step.node), kind, old, text)
        function.at_line(Proposal(edit, statements=((step.node, text),)))


def _dropped(function: Function, step: Step, target: c_ast.Node) -> None:
    """No assignment at all."""
    node = step.node
    old = function.standing(node, shown(node)) or function.standing(
        node, f"{shown(target)} {getattr(node, 'op', '')}"
    )
    edit = Edit(line_of(node), "without", old, ";")
    function.at_line(Proposal(edit, statements=((node, ";"),)))


def _guarded(function: Function, step: Step, part: c_ast.Node) -> None:
    """A statement that a NULL in it prevents."""
    for name in dict.fromkeys(names_in(part)):
        kind = step.scope.get(name)
        if kind is None or kind.kind != "pointer":
            continue
        text = f"if ({name}) {{ {plain(step.node)}; }}"
        edit = Edit(line_of(step.node), "condition", name, f"if ({name})")
        function.at_line(Proposal(edit, statements=((step.node, text),)))


def _reset(function: Function, step: Step) -> None:
    """A sum from outside of a loop, set to 0 again at the start of the loop's body."""
    node = step.node
    if node.op not in ("+=", "-=") or not isinstance(node.lvalue, c_ast.ID):
        return
    name = node.lvalue.name
    declared = function.places.declared.get(name)
    first = declared.init if declared else None
    if not isinstance(first, c_ast.Constant) or float(_digits(first.value)) != 0:
        return
    for loop, known in zip(step.loops, step.fresh):
        body = loop.stmt
        if name in known:
            text = f"{name} = 0;"
            edit = Edit(line_of(declared), "reset", name, text)
            function.at_line(Proposal(edit, before=((body, text),)))


def _digits(text: str) -> str:
    """A literal without its suffix; "1" for one in another notation."""
    digits = text.rstrip("uUlLfF")
    return digits if digits.replace(".", "").isdigit() else "1"


def _exchanged(function: Function) -> None:
    """Two neighbouring statements in the other order."""
    for one, other in function.places.pairs:
        first, second = (_statement_text(node) for node in (one, other))
        old = function.standing(one, first.partition("\n")[0].rstrip("{; "))
        edit = Edit(line_of(one), "next", old, second)
        statements = ((one, second), (other, first))
        function.at_line(Proposal(edit, statements=statements))


def _statement_text(node: c_ast.Node) -> str:
    """A statement with its semicolon."""
    text = plain(node).rstrip()
    return text if text.endswith(("}", ";")) else f"{text};"


def _numbers_of_a_line(function: Function) -> None:
    """Two positions of one line exchanged: `IH = t->size[3], IW = t->size[2]`."""
    places = [
        place
        for place in function.places.values
        if isinstance(place.node, c_ast.Constant)
        and isinstance(place.parent, c_ast.ArrayRef)
    ]
    for line, of_line in groupby(places, lambda place: line_of(place.node)):
        for one, other in combinations(list(of_line), 2):
            _exchange(function, line, one, other)


def _exchange(function: Function, line: int, one: Place, other: Place) -> None:
    """Proposes that two literals change their places."""
    texts = one.node.value, other.node.value
    if texts[0] == texts[1]:
        return
    old = function.standing(one.node, shown(one.parent)) if one.parent else ""
    values = ((one.node, texts[1]), (other.node, texts[0]))
    edit = Edit(line, "exchange", old, " and ".join(texts))
    function.at_line(Proposal(edit, values=values))


def _variables_exchanged(function: Function) -> None:
    """Two pointers, or two floating-point numbers, exchanged in the whole function."""
    uses: dict[str, list[Place]] = {}
    for place in function.places.values:
        if isinstance(place.node, c_ast.ID) and place.type.kind in ("pointer", "float"):
            uses.setdefault(place.node.name, []).append(place)
    for one, other in combinations(uses, 2):
        places = uses[one] + uses[other]
        alike = len({(p.type, p.type.to and p.type.to.const) for p in places}) == 1
        known = all({one, other} <= set(place.scope) for place in places)
        if not (alike and known):
            continue
        values = tuple((p.node, other if p.node.name == one else one) for p in places)
        first = places[0].node
        edit = Edit(line_of(first), "swap", one, f"{other} everywhere")
        function.at_line(Proposal(edit, values=values))


def on_both_axes(function: Function) -> None:
    """The same edit for the height and for the width, in one line or in two."""
    singles: dict[tuple[str, str, str], list[Proposal]] = {}
    for proposal in function.proposals:
        if len(proposal.values) == 1:
            node, text = proposal.values[0]
            key = (proposal.edit.kind, plain(node), text)
            singles.setdefault(key, []).append(proposal)
    for (kind, old, new), found in list(singles.items()):
        for one in found:
            twin = (kind, other_axis(old, one.scope), other_axis(new, one.scope))
            if old < twin[1] and twin in singles:
                other = min(
                    singles[twin], key=lambda p: abs(p.edit.line - one.edit.line)
                )
                if abs(other.edit.line - one.edit.line) < NEIGHBOURS:
                    values = one.values + other.values
                    edit = replace(one.edit, kind="both")
                    both = Proposal(edit, values, likely=one.likely)
                    function.proposals.append(both)


def everywhere(functions: Sequence[Function]) -> list[Proposal]:
    """Another function at all its calls in the file, if it has several."""
    found = []
    for family in FAMILIES:
        for name in family:
            calls = [
                (function, place.node)
                for function in functions
                for place in function.places.values
                if isinstance(place.node, c_ast.FuncCall)
                and called_name(place.node) == name
            ]
            if len(calls) < 2:
                continue
            first, node = calls[0]
            old = first.standing(node, name)
            for other in family:
                if other == name or other not in first.types.results or not old:
                    continue
                values = tuple(
                    (call, f"{other}({plain(call.args)})") for _, call in calls
                )
                edit = Edit(line_of(node), "functions", old, f"{other} everywhere")
                found.append(Proposal(edit, values=values))
    return found
