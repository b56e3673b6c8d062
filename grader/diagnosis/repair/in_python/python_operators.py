# SPDX-License-Identifier: MIT
"""Changes of operators in a Python file: another one, another order, other brackets."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterator

from grader.diagnosis.repair.in_python.python_source import Change, Part, Scope

SIGNS: dict[
    type[ast.AST], tuple[str, tuple[str, ...]]
] = {  # what stands there, instead
    ast.Add: ("+", ("-", "*")),
    ast.Sub: ("-", ("+",)),
    ast.Mult: ("*", ("/", "+", "@")),
    ast.Div: ("/", ("*", "//")),
    ast.FloorDiv: ("//", ("%", "/")),
    ast.Mod: ("%", ("//",)),
    ast.MatMult: ("@", ("*",)),
    ast.Lt: ("<", ("<=", ">")),
    ast.LtE: ("<=", ("<", ">=")),
    ast.Gt: (">", (">=", "<")),
    ast.GtE: (">=", (">", "<=")),
    ast.Eq: ("==", ("!=",)),
    ast.NotEq: ("!=", ("==",)),
    ast.And: ("and", ("or",)),
    ast.Or: ("or", ("and",)),
    ast.Is: ("is", ("is not",)),
    ast.IsNot: ("is not", ("is",)),
}


def operators(scope: Scope) -> Iterator[Change]:
    """Another operator between the same operands; a sign more or less."""
    for node in scope.nodes:
        about = scope.source.span(node) if isinstance(node, ast.expr) else (0, 0)
        match node:
            case ast.BinOp(left=left, op=op, right=right):
                yield from _signs(scope, about, op, [left, right])
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                operands = [left, *comparators]
                for one, pair in zip(ops, itertools.pairwise(operands)):
                    yield from _signs(scope, about, one, list(pair))
            case ast.BoolOp(op=op, values=values):
                yield from _signs(scope, about, op, values)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                if not isinstance(operand, ast.Constant):
                    span = about[0], about[0] + len("-")
                    yield Change("sign", about, ((*span, " "),), 0)
            case ast.UnaryOp(op=ast.Not()):
                span = about[0], about[0] + len("not")
                yield Change("without", span, ((*span, " "),), 0)
            case ast.AugAssign(target=target, op=op, value=value):
                sign, others = SIGNS.get(type(op), ("", ()))
                at = scope.source.between(target, value, f"{sign}=")
                if sign and at is not None:
                    span = (at, at + len(sign) + 1)
                    for new in ["=", *(f"{other}=" for other in others)]:
                        yield Change("operator", span, ((*span, new),), 0)
            case ast.Assign(targets=[ast.Name() | ast.Subscript() as target]):
                at = scope.source.between(target, node.value, "=")
                if at is not None:
                    span = (at, at + 1)
                    yield Change("operator", span, ((*span, "+="),), 2)


def _signs(
    scope: Scope, about: tuple[int, int], op: ast.AST, operands: list[ast.expr]
) -> Iterator[Change]:
    """The signs of one operation exchanged for the others."""
    sign, others = SIGNS.get(type(op), ("", ()))
    if not sign:
        return
    found = [scope.source.between(*pair, sign) for pair in itertools.pairwise(operands)]
    places = [at for at in found if at is not None]
    if len(places) < len(found):
        return
    for rank, new in enumerate(others):
        parts = tuple((at, at + len(sign), new) for at in places)
        kind, where = "operation", about
        if len(parts) == 1 and only_one(scope, parts[0][:2]):
            kind, where = "operator", parts[0][:2]
        yield Change(kind, where, parts, 0 if rank == 0 else 3, rank)


def only_one(scope: Scope, span: tuple[int, int]) -> bool:
    """Whether an operator stands only once in its line."""
    source = scope.source
    line = source.line(span[0])
    words = source.words(source.starts[line - 1], source.starts[line])
    return words.partition("#")[0].count(source.words(*span)) == 1


def orders(scope: Scope) -> Iterator[Change]:
    """Operands, arguments and elements of a tuple in another order."""
    source = scope.source
    for node in scope.nodes:
        match node:
            case ast.BinOp(left=left, op=op, right=right):
                if isinstance(op, ast.Sub | ast.Div | ast.MatMult | ast.FloorDiv):
                    sign = SIGNS[type(op)][0]
                    at = source.between(left, right, sign)
                    if at is not None:
                        start, end = source.span(node)
                        first = source.words(start, at).rstrip()
                        second = source.words(at + len(sign), end).lstrip()
                        new = (
                            f"({_closed(right, second)} {sign} {_closed(left, first)})"
                        )
                        yield Change("order", (start, end), ((start, end, new),), 0)
            case ast.Call(func=function, args=arguments):
                where = source.span(function)
                yield from _permuted(scope, arguments, "arguments", where)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                yield from _permuted(scope, elements, "elements", None)


def _closed(node: ast.expr, words: str) -> str:
    """The operand's text, fit to stand on the other side."""
    simple = ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.Constant
    return words if isinstance(node, simple) else f"({words})"


def loops(scope: Scope) -> Iterator[Change]:
    """Two loops, one inside of the other, the other way around."""
    source = scope.source
    for node in scope.nodes:
        match node:
            case ast.For(body=[ast.For() as inner]):
                heads = [(node.target, node.iter), (inner.target, inner.iter)]
            case ast.ListComp() | ast.GeneratorExp() if len(node.generators) == 2:
                heads = [(one.target, one.iter) for one in node.generators]
            case _:
                continue
        spans = [(source.span(one)[0], source.span(two)[1]) for one, two in heads]
        parts = (
            (*spans[0], source.words(*spans[1])),
            (*spans[1], source.words(*spans[0])),
        )
        yield Change("loops", spans[0], parts, 1)


def brackets(scope: Scope) -> Iterator[Change]:
    """a * (b + c) for a * b + c and the reverse; f(x + y) for f(x) + y."""
    source = scope.source
    weak, strong = ast.Add | ast.Sub, ast.Mult | ast.Div | ast.FloorDiv | ast.MatMult
    for node in scope.of_kind(ast.BinOp):
        assert isinstance(node, ast.BinOp)
        left, right = node.left, node.right
        sign = SIGNS.get(type(node.op), ("",))[0]
        at = source.between(left, right, sign) if sign else None
        if at is None:
            continue
        about = start, end = source.span(node)
        before = source.words(start, at).strip()
        behind = source.words(at + len(sign), end).strip()
        news = []
        if isinstance(node.op, weak):
            if isinstance(left, ast.BinOp) and isinstance(left.op, strong):
                first, second = source.text(left.left), source.text(left.right)
                if (cut := before.rfind(second)) > 0:
                    news.append(f"{before[:cut]}({before[cut:]} {sign} {behind})")
                if before.startswith(first):
                    rest = before[len(first) :]
                    news.append(f"(({first} {sign} {behind}){rest})")
            if isinstance(right, ast.BinOp) and isinstance(right.op, strong):
                second = source.text(right.left)
                if behind.startswith(second):
                    rest = behind[len(second) :]
                    news.append(f"(({before} {sign} {second}){rest})")
            if isinstance(left, ast.Call) and len(left.args) == 1 and before[-1] == ")":
                news.append(f"{before[:-1]} {sign} {behind})")
        elif isinstance(node.op, strong):
            if isinstance(right, ast.BinOp) and isinstance(right.op, weak | strong):
                news.append(f"({before} {sign} {behind[1:-1]})")
            if isinstance(left, ast.BinOp) and isinstance(left.op, weak):
                news.append(f"({before[1:-1]} {sign} {behind})")
        for rank, new in enumerate(news):
            yield Change("brackets", about, ((start, end, new),), 1, rank)


def _permuted(
    scope: Scope, elements: list[ast.expr], kind: str, where: tuple[int, int] | None
) -> Iterator[Change]:
    """Two elements exchanged; of three or four names every order."""
    source = scope.source
    if not 2 <= len(elements) <= 9:
        return
    spans = [source.span(one) for one in elements]
    texts = [source.text(one) for one in elements]
    orders: list[tuple[int, ...]] = []
    places = range(len(elements))
    for i, j in itertools.combinations(places, 2):
        exchanged = {i: j, j: i}
        orders.append(tuple(exchanged.get(place, place) for place in places))
    if len(elements) in (3, 4):
        orders += [one for one in itertools.permutations(places) if one not in orders]
    for rank, order in enumerate(orders):
        moved = [i for i in places if texts[order[i]] != texts[i]]
        if not moved:
            continue
        parts: tuple[Part, ...] = tuple((*spans[i], texts[order[i]]) for i in moved)
        about = where or (spans[moved[0]][0], spans[moved[-1]][1])
        yield Change(kind, about, parts, 0 if len(moved) == 2 else 2, rank)


ALL: tuple[Callable[[Scope], Iterator[Change]], ...] = (
    operators,
    orders,
    loops,
    brackets,
)
