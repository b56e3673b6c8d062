# SPDX-License-Identifier: MIT
"""Proposes one more factor, term or condition beside what stands in a function."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pycparser import c_ast

from grader.diagnosis.repair.in_c.c_expressions import FAMILIES
from grader.diagnosis.repair.in_c.c_places import Place
from grader.diagnosis.repair.in_c.c_proposals import Function, names_in, other_axis
from grader.diagnosis.repair.in_c.c_types import Scope
from grader.diagnosis.repair.in_c.c_writer import plain

PRODUCT, SUM, BOTH = ("*", "/", "%"), ("+", "-"), ("&&", "||")
COMPARED = ("<", "<=", ">", ">=", "==", "!=")
_SIZE = re.compile(r"^[A-Z][A-Z0-9]*$")


@dataclass(frozen=True)
class _Part:
    """A factor, a term or a condition, and the variables that it needs."""

    text: str
    needs: frozenset[str]


@dataclass
class _Parts:
    """The parts of a function's products, sums and conditions: "int" and "float"."""

    factors: dict[str, list[_Part]]
    terms: dict[str, list[_Part]]
    conditions: list[_Part]
    elements: list[_Part]  # floating-point numbers of tensors and arrays


def propose(function: Function) -> None:
    """Proposes all additions to a function's expressions."""
    parts = _parts(function)
    for place in function.places.values:
        node, kind = place.node, place.type.kind
        around = place.around
        literal = _literal(node)
        if kind == "int" and around in (*BOTH, "") and _condition(node):
            _conditions(function, place, parts)
        _called(function, place)
        if place.type.kind == "float" and around not in PRODUCT and not literal:
            new = f"-({plain(node)})"
            function.value(place, "sign", function.label(node), new)
        if _element(place):
            _instead(function, place, parts)
        if place.type.number and not literal and _grows(place, around):
            if _multiplies(place, around):
                _factors(function, place, parts)
            elif around in PRODUCT and isinstance(node, c_ast.ID) and kind == "int":
                _divisors(function, place, around)
            if around not in SUM and not isinstance(node, c_ast.Cast):
                _terms(function, place, parts)


def _condition(node: c_ast.Node) -> bool:
    """Whether an expression is a comparison, or joins some."""
    return isinstance(node, c_ast.BinaryOp) and node.op in (*BOTH, *COMPARED)


def _grows(place: Place, around: str) -> bool:
    """Whether a place is one at which a factor or a term may be missing."""
    if _condition(place.node) or isinstance(place.parent, c_ast.UnaryOp):
        return False
    if isinstance(place.node, c_ast.ID) and around in COMPARED:
        return place.is_right  # the left side gets nothing
    if place.type.kind == "float":
        return not isinstance(place.node, c_ast.Cast) or around != ""
    return place.index or bool(around) or place.parent is None


def _multiplies(place: Place, around: str) -> bool:
    """Whether a place is a whole product, and no position that stands alone."""
    alone = isinstance(place.parent, c_ast.FuncCall)
    alone = alone and isinstance(place.node, (c_ast.ID, c_ast.StructRef))
    return around not in PRODUCT and not (place.index and alone)


def _parts(function: Function) -> _Parts:
    """The factors, terms and conditions that occur in a function."""
    found = _Parts({"int": [], "float": []}, {"int": [], "float": []}, [], [])
    for place in function.places.values:
        node = place.node
        around = place.around
        if _element(place):
            found.elements.append(_part(node))
        elif isinstance(node, c_ast.Assignment) and place.type.kind == "float":
            found.elements.append(_part(node.lvalue))
        if _condition(node) and node.op in COMPARED:
            found.conditions.append(_part(node))
        if not place.type.number or isinstance(
            node, (c_ast.Constant, c_ast.Assignment)
        ):
            continue
        if around in PRODUCT:
            found.factors[place.type.kind].append(_part(node))
        elif around in SUM:
            found.terms[place.type.kind].append(_part(node))
    return found


def _part(node: c_ast.Node) -> _Part:
    return _Part(plain(node), frozenset(names_in(node)))


def _element(place: Place) -> bool:
    """Whether an expression is a floating-point number of a tensor or of an array."""
    found = isinstance(place.node, c_ast.ArrayRef) or (
        isinstance(place.node, c_ast.UnaryOp) and place.node.op == "*"
    )
    return found and place.type.kind == "float"


def _known(function: Function, parts: list[_Part], scope: Scope) -> Iterator[str]:
    """The parts of which all names are known at a place, and those of the other axis,
    or of another variable of the same type.
    """
    for part in parts:
        other = other_axis(part.text, scope)
        if all(name in scope for name in part.needs):
            yield part.text
            yield other
            yield from _of_others(function, part, scope)
        elif other != part.text and all(name in scope for name in _words(other)):
            yield other


def _of_others(function: Function, part: _Part, scope: Scope) -> Iterator[str]:
    """A part with another struct or pointer in place of one: `rhs.size[1]`, of lhs."""
    for name in part.needs:
        for other, kind in function.variables(scope):
            fits = not kind.number or other in function.unused
            if other != name and kind == scope[name] and fits:
                yield re.sub(rf"(?<![\w.>]){name}\b", other, part.text)


def _words(text: str) -> set[str]:
    """The variables of a text."""
    return set(re.findall(r"(?<![\w.>])[A-Za-z_]\w*\b(?!\()", text))


def _options(function: Function, scope: Scope, kind: str) -> Iterator[str]:
    """The members of the structs of numbers that a function gets: its options."""
    for name, declared in function.variables(scope):
        members = function.types.members.get(declared.name, {})
        if declared.kind == "struct" and all(one.number for one in members.values()):
            for member, found in members.items():
                if found.kind == kind:
                    yield f"{name}.{member}"


def _sizes(function: Function, scope: Scope) -> Iterator[str]:
    """The sizes that are known at a place, and whole numbers that nothing uses yet."""
    for name, declared in function.variables(scope):
        if declared.kind == "int" and (_SIZE.match(name) or name in function.unused):
            yield name


def _factors(function: Function, place: Place, parts: _Parts) -> None:
    """One more factor, or a divisor."""
    kind, scope = place.type.kind, place.scope
    sizes = list(_sizes(function, scope))
    options = list(_options(function, scope, kind))
    texts = [*_known(function, parts.factors[kind], scope), *options, *sizes]
    if kind == "float":
        texts += [name for name, one in function.variables(scope) if one.kind == kind]
        _beside(function, place, "factor", [*texts, "2.0", "3.0", "0.5"], ("*", "/"))
        elements = _known(function, parts.elements, scope)
        _beside(function, place, "factor", elements, ("*",))
    else:
        _beside(function, place, "factor", texts, ("*",))
        _beside(function, place, "factor", [*options, *sizes], ("/",))


def _divisors(function: Function, place: Place, around: str) -> None:
    """One more divisor of a single factor: `i / OC * IC`, of `i * IC`."""
    scope = place.scope
    sizes = [*_options(function, scope, "int"), *_sizes(function, scope)]
    _beside(function, place, "factor", sizes, ("/", "%"))
    own, old = plain(place.node), function.label(place.node)
    if around == "/" and place.is_right:
        for text in sizes:
            function.value(place, "factor", old, f"({text}) / ({own})")


def _terms(function: Function, place: Place, parts: _Parts) -> None:
    """One more term."""
    kind, scope = place.type.kind, place.scope
    texts = [*_known(function, parts.terms[kind], scope), "1"]
    if kind == "int":
        texts += _options(function, scope, kind)
        texts += [n for n in scope if n in function.unused and scope[n].number]
    else:
        texts += [name for name, one in function.variables(scope) if one.kind == kind]
        texts += _known(function, parts.elements, scope)
        for text in _known(function, parts.factors[kind], scope):
            if any(word in function.unused for word in _words(text)):
                texts.append(text)
    _beside(function, place, "term", texts, ("+", "-"))


def _called(function: Function, place: Place) -> None:
    """A function of the file, or of real.h, of a value: `transposed(matrix)`."""
    if place.type.kind not in ("float", "struct") or _literal(place.node):
        return
    types, old = function.types, function.label(place.node)
    for name, known in types.parameters.items():
        own = name in function.own or name in FAMILIES[0]
        if own and known == [place.type] and types.results[name] == place.type:
            new = f"{name}({plain(place.node)})"
            function.value(place, "call", old, new)


def _literal(node: c_ast.Node) -> bool:
    """Whether an expression is a literal, or an assignment."""
    return isinstance(node, (c_ast.Constant, c_ast.Assignment))


def _instead(function: Function, place: Place, parts: _Parts) -> None:
    """A variable, or an element of another tensor, in place of an element."""
    old = function.label(place.node)
    for name, kind in function.variables(place.scope):
        if kind.kind == "float":
            function.value(place, "value", old, name)
    for text in _known(function, parts.elements, place.scope):
        if text != plain(place.node):
            function.value(place, "value", old, text)


def _conditions(function: Function, place: Place, parts: _Parts) -> None:
    """One more condition, joined by && or ||."""
    if isinstance(place.parent, c_ast.BinaryOp):
        return  # a part of a condition: the whole one gets it
    joined = getattr(place.node, "op", "")
    signs = (joined,) if joined in BOTH else BOTH
    known = _known(function, parts.conditions, place.scope)
    _beside(function, place, "condition", known, signs)


def _beside(
    function: Function,
    place: Place,
    kind: str,
    texts: list[str] | Iterator[str],
    signs: tuple[str, ...],
) -> None:
    """Proposes an expression together with each of some texts."""
    own, old = plain(place.node), function.label(place.node)
    options = set(_options(function, place.scope, place.type.kind))
    for text in dict.fromkeys(texts):
        words = _words(text)
        likely = text in options or any(word in function.unused for word in words)
        for sign in signs:
            if text != own or sign in ("*", "+"):
                new = f"({own}) {sign} ({text})"
                function.value(place, kind, old, new, likely=likely and sign != "/")
