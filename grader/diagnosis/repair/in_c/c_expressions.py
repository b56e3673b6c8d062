# SPDX-License-Identifier: MIT
"""Proposes changes inside of an expression: of its names, numbers and operators."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations, pairwise

from pycparser import c_ast

from grader.diagnosis.repair.in_c.c_file import line_of
from grader.diagnosis.repair.in_c.c_places import Place
from grader.diagnosis.repair.in_c.c_proposals import Function, Proposal, other_axis
from grader.diagnosis.repair.in_c.c_types import VOID, Scope, Type, called_name
from grader.diagnosis.repair.in_c.c_writer import plain, shown
from grader.diagnosis.repair.small_change import Edit

OPERATORS = {
    "+": ("-",),
    "-": ("+",),
    "*": ("/",),
    "/": ("*", "%"),
    "%": ("/",),
    "<": ("<=", ">", ">=", "!="),
    "<=": ("<", ">=", ">"),
    ">": (">=", "<", "<=", "!="),
    ">=": (">", "<=", "<"),
    "==": ("!=", "<=", ">="),
    "!=": ("==", "<", ">"),
    "&&": ("||",),
    "||": ("&&",),
}
ASSIGNMENTS = {
    "=": ("+=", "-="),
    "+=": ("=", "-="),
    "-=": ("+=", "="),
    "*=": ("/=", "="),
    "/=": ("*=",),
}
MOST_ATOMS = 9  # names in an expression of which two are exchanged
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
_MATH = (
    *("exp", "expm1", "tanh", "erf", "erfc", "log", "log1p"),
    *("sqrt", "fabs", "sin", "cos", "sinh", "cosh", "cbrt"),
)
FAMILIES = (  # functions that a student takes for each other
    tuple(f"real_{name}" for name in ("exp", "expm1", "tanh", "erf", "sqrt")),
    _MATH,
    tuple(f"{name}f" for name in _MATH),
    ("fmin", "fmax"),
    ("fminf", "fmaxf"),
    ("floor", "ceil", "trunc", "round"),
)


def propose(function: Function) -> None:
    """Proposes all changes inside of a function's expressions."""
    for place in function.places.values:
        match place.node:
            case c_ast.ID():
                _name(function, place)
            case c_ast.StructRef():
                _member(function, place)
            case c_ast.Constant():
                _number(function, place)
            case c_ast.BinaryOp():
                _operator(function, place)
                _order(function, place)
                _without(function, place)
            case c_ast.UnaryOp():
                _unary(function, place)
            case c_ast.Assignment():
                _assignment(function, place)
            case c_ast.FuncCall():
                _call(function, place)
            case c_ast.TernaryOp():
                _ternary(function, place)
        assigned = isinstance(place.node, c_ast.Assignment)
        if isinstance(place.parent, c_ast.Assignment) or not (place.parent or assigned):
            _exchanges(function, place)


def _name(function: Function, place: Place) -> None:
    """Another variable of the same type in place of a name."""
    node = place.node
    if node.name in function.types.enumerators:
        others = function.types.enumerators[node.name]
        if node.name.startswith("STATUS_"):
            others = ()
    else:
        others = tuple(_alike(function, place, place.type))
    for other in others:
        if other != node.name:
            new = _writable(place, other)
            function.value(place, "name", function.standing(node, node.name), new)


def _writable(place: Place, other: str) -> str:
    """Another pointer, cast if one may be written through and the other may not."""
    to, other_to = place.type.to, place.scope.get(other, place.type).to
    if to is None or other_to is None or to.const == other_to.const:
        return other
    return f"(__typeof__({plain(place.node)} + 0))({other})"


def _alike(function: Function, place: Place, kind: Type) -> list[str]:
    """The variables that could stand in place of one of this type."""
    if kind.number:
        return [
            name
            for name, other in function.variables(place.scope)
            if other.kind == kind.kind
        ]
    if kind.kind not in ("pointer", "struct"):
        return []
    return [name for name, other in function.variables(place.scope) if other == kind]


def _member(function: Function, place: Place) -> None:
    """Another member of the same struct, or the same member of another variable."""
    node = place.node
    base = function.types.of(node.name, place.scope)
    if node.type == "->" and base.to:
        base = base.to
    text, field = plain(node.name), node.field.name
    old = function.standing(node, f"{shown(node.name)}{node.type}{field}")
    for name, kind in function.types.members.get(base.name, {}).items():
        same = kind.kind == place.type.kind if kind.number else kind == place.type
        if name != field and same:
            function.value(place, "name", old, f"{text}{node.type}{name}")
    if node.type == "." and isinstance(node.name, c_ast.ID):
        for other in _alike(function, place, base):
            if other != node.name.name and base.kind == "struct":
                old = function.standing(node, node.name.name)
                function.value(place, "name", old, f"{other}.{field}")


def _number(function: Function, place: Place) -> None:
    """Another number in place of a literal."""
    node = place.node
    old = function.standing(node, node.value)
    if place.type.kind == "float":
        hexadecimal = node.value[:2] in ("0x", "0X")
        number = float.fromhex(node.value) if hexadecimal else _float(node.value)
        suffix = "f" if node.type == "float" else ""
        for value in (0.0, 1.0, 2 * number, number / 2, -number):
            if value != number:
                function.value(place, "number", old, f"{value!r}{suffix}")
    elif place.type.kind == "int":
        number = int(node.value.rstrip("uUlL"), 0)
        others = [number - 1, number + 1, 0, 1, 2, *([3] if place.index else [])]
        for whole in dict.fromkeys(others):
            if whole != number and (whole >= 0 or not place.index):
                function.value(place, "number", old, str(whole))
    if not isinstance(place.parent, c_ast.ArrayRef):
        for text in _values(function, place):
            function.value(place, "value", old, text)


def _float(text: str) -> float:
    """The number of a literal, with its suffix."""
    return float(text.rstrip("fFlLuU"))


def _values(function: Function, place: Place) -> Iterator[str]:
    """The variables, and members of structs of numbers, that are as a literal is."""
    for name, kind in function.variables(place.scope):
        if kind.kind == place.type.kind:
            yield name
        members = function.types.members.get(kind.name, {})
        if kind.kind == "struct" and all(one.number for one in members.values()):
            for member, found in members.items():
                if found.kind == place.type.kind:
                    yield f"{name}.{member}"


def _operator(function: Function, place: Place) -> None:
    """Another operator between two operands, and another bound of a comparison."""
    node = place.node
    left, right = plain(node.left), plain(node.right)
    kinds = [function.types.of(one, place.scope) for one in (node.left, node.right)]
    line = function.operator_line(node.left, node.right, node.op)
    for op in OPERATORS.get(node.op, ()):
        whole = all(kind.kind == "int" for kind in kinds)
        fits = whole if op == "%" else place.type.kind != "other"
        fits = fits and (kinds[1].kind != "pointer" or op not in "+-*/%")
        if fits and line:
            new = f"({left}) {op} ({right})"
            _at(function, place, Edit(line, "operator", node.op, new))
    if node.op in COMPARISONS and all(kind.kind == "int" for kind in kinds):
        old = function.label(node)
        for sign in "+-":
            function.value(
                place, "bound", old, f"({left}) {node.op} ({right}) {sign} 1"
            )


def _at(function: Function, place: Place, edit: Edit) -> None:
    """Proposes another value at a line of its own, that of an operator."""
    number = place.type.number
    text = f"({place.type.name})({edit.new})" if number else edit.new
    function.at_line(Proposal(edit, ((place.node, text),), scope=place.scope))


def _order(function: Function, place: Place) -> None:
    """The operands of a difference or of a quotient exchanged."""
    node = place.node
    if node.op in ("-", "/", "%") and place.type.number:
        old = function.standing(node, shown(node)) or function.standing(node, node.op)
        new = f"({plain(node.right)}) {node.op} ({plain(node.left)})"
        function.value(place, "order", old, new)


def _without(function: Function, place: Place) -> None:
    """One of two operands alone."""
    node = place.node
    if node.op not in ("+", "-", "*", "/", "%", "&&", "||"):
        return
    sides = [(node.left, node.right, False, "")]
    if node.op not in ("/", "%"):
        sides.append((node.right, node.left, True, ""))
    if node.op == "-":
        sides.append((node.right, node.left, True, "-"))
    for kept, dropped, first, sign in sides:
        kind = function.types.of(kept, place.scope)
        if place.type.kind == "pointer" and kind != place.type:
            continue
        text = f"{sign}({plain(kept)})"
        if kind.kind == "pointer" and place.type.kind != "pointer":
            text = f"({text}) != 0"
        part = shown(dropped)
        words = f"{part} {node.op}" if first else f"{node.op} {part}"
        line = function.operator_line(node.left, node.right, node.op)
        old = function.file.standing(line, words) or function.file.standing(line, part)
        old = old or function.file.standing(line, node.op)
        if line and old and place.type.kind != "other":
            _at(function, place, Edit(line, "without", old, text))


def _unary(function: Function, place: Place) -> None:
    """No minus, no `!`, or the address of another variable."""
    node = place.node
    inner = plain(node.expr)
    if node.op == "-" and place.type.number:
        function.value(place, "without", function.standing(node, "-"), inner)
    elif node.op == "!":
        old = function.standing(node, f"!{shown(node.expr)}")
        function.value(place, "without", old, f"!(!({inner}))")
    elif node.op == "&" and isinstance(node.expr, c_ast.ID):
        kind = function.types.of(node.expr, place.scope)
        for other in _alike(function, place, kind):
            if other != node.expr.name and place.scope[other] == kind:
                old = function.standing(node, node.expr.name)
                function.value(place, "name", old, f"&{other}")


def _assignment(function: Function, place: Place) -> None:
    """Another assignment operator, or another variable on the left side."""
    node = place.node
    left, right = plain(node.lvalue), plain(node.rvalue)
    kind = function.types.of(node.lvalue, place.scope)
    line = function.operator_line(node.lvalue, node.rvalue, node.op)
    for op in ASSIGNMENTS.get(node.op, ()):
        if kind.number and line:
            new = f"{left} {op} {right}"
            _at(function, place, Edit(line, "operator", node.op, new))
    if isinstance(node.lvalue, c_ast.ID):
        old = function.standing(node, node.lvalue.name)
        for other in _alike(function, place, kind):
            if other != node.lvalue.name and not place.scope[other].const:
                function.value(place, "name", old, f"{other} {node.op} {right}")


def _call(function: Function, place: Place) -> None:
    """Another function, two arguments exchanged, or no call at all."""
    node = place.node
    name = called_name(node)
    given = list(node.args.exprs) if node.args else []
    texts = [plain(one) for one in given]
    for family in FAMILIES:
        for other in family if name in family else ():
            if other != name and other in function.types.results:
                new = f"{other}({', '.join(texts)})"
                function.value(place, "function", function.standing(node, name), new)
    for other in _like_it(function, name):
        new = f"{other}({', '.join(texts)})"
        function.value(place, "function", function.standing(node, name), new)
    _arguments(function, place, given)
    if place.type == VOID and place.parent is None:
        old = function.label(node) if given else function.standing(node, name)
        function.value(place, "without", old, "(void)0")
        _again(function, place, given)


def _like_it(function: Function, name: str) -> list[str]:
    """The file's other functions with such parameters and such a result."""
    types = function.types
    wanted = (types.parameters.get(name), types.results.get(name))
    return [
        own
        for own in sorted(function.own)
        if own != name and (types.parameters[own], types.results[own]) == wanted
    ]


def _again(function: Function, place: Place, given: list[c_ast.Node]) -> None:
    """The same call once more, for another variable that the function gets."""
    name, texts = called_name(place.node), [plain(one) for one in given]
    for i, one in enumerate(given):
        kind = function.types.of(one, place.scope)
        if not isinstance(one, c_ast.ID) or kind.kind != "pointer":
            continue
        for other in _alike(function, place, kind):
            if other != one.name:
                more = ", ".join([*texts[:i], other, *texts[i + 1 :]])
                new = f"{plain(place.node)}, {name}({more})"
                old = function.standing(place.node, name)
                function.value(place, "call", old, new)


def _arguments(function: Function, place: Place, given: list[c_ast.Node]) -> None:
    """Two neighbouring arguments exchanged, if they are of the same kind."""
    name = called_name(place.node)
    texts = [plain(one) for one in given]
    kinds = [function.types.of(one, place.scope) for one in given]
    for i, (one, other) in enumerate(pairwise(kinds)):
        alike = one.kind == other.kind if one.number else one == other
        if not alike or one.kind == "other" or texts[i] == texts[i + 1]:
            continue
        turned = [*texts[:i], texts[i + 1], texts[i], *texts[i + 2 :]]
        line = line_of(given[i])
        words = f"{shown(given[i])}, {shown(given[i + 1])}"
        old = function.file.standing(line, words)
        old = old or function.file.standing(line, shown(given[i]))
        _at(
            function,
            place,
            Edit(line, "arguments", old, f"{name}({', '.join(turned)})"),
        )


def _ternary(function: Function, place: Place) -> None:
    """The two values of a conditional expression exchanged, or one of them always."""
    node = place.node
    condition, yes, no = plain(node.cond), plain(node.iftrue), plain(node.iffalse)
    old = function.standing(node, f"{shown(node.cond)} ?")
    function.value(place, "without", old, yes)
    function.value(place, "without", old, no)
    old = function.standing(node, "?")
    function.value(place, "order", old, f"({condition}) ? ({no}) : ({yes})")


def _exchanges(function: Function, place: Place) -> None:
    """Two names exchanged in a whole expression, or height and width."""
    if place.type.kind in ("other", "struct"):
        return
    text = plain(place.node)
    atoms = _atoms(function, place.node, place.scope)
    if len(atoms) > MOST_ATOMS:
        return
    for (one, node, kind), (other, _, other_kind) in combinations(atoms, 2):
        if kind == other_kind and kind.number:
            exchanged = _turned(text, one, other)
            old = function.file.standing(line_of(node), one)
            if old and line_of(node):
                _at(function, place, Edit(line_of(node), "exchange", old, exchanged))
    axes = other_axis(text, place.scope)
    first = next((n for n, _, _ in atoms if other_axis(n, place.scope) != n), "")
    function.value(place, "exchange", function.standing(place.node, first), axes)


def _atoms(
    function: Function, node: c_ast.Node, scope: Scope
) -> list[tuple[str, c_ast.Node, Type]]:
    """The different names and members of an expression."""
    found: dict[str, tuple[str, c_ast.Node, Type]] = {}
    waiting = [node]
    while waiting:
        one = waiting.pop(0)
        if isinstance(one, (c_ast.ID, c_ast.StructRef)):
            kind = function.types.of(one, scope)
            found.setdefault(plain(one), (plain(one), one, kind))
        if not isinstance(one, c_ast.StructRef):
            waiting += [child for _, child in one.children()]
    return list(found.values())


def _turned(text: str, one: str, other: str) -> str:
    """A text with each of two names in place of the other one."""
    pattern = re.compile(
        rf"(?<![\w.>])(?:({re.escape(one)})|({re.escape(other)}))(?![\w(])"
    )
    return pattern.sub(lambda match: other if match[1] else one, text)
