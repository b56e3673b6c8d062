# SPDX-License-Identifier: MIT
"""Changes of a Python file that add something to what stands there, or leave it out."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from grader.diagnosis.repair.in_python.python_exchanges import (
    module,
    other_axis,
    statement_of,
)
from grader.diagnosis.repair.in_python.python_operators import SIGNS
from grader.diagnosis.repair.in_python.python_source import Change, Part, Scope

CALLS = (  # what may be missing behind a tensor
    ".transpose(-1, -2)",
    ".sum(0)",
    ".sum(-1)",
    ".sum((0, 2, 3))",
    ".sum(-1, keepdim=True)",
    ".mean(-1, keepdim=True)",
    ".sum(1)",
    ".sum(2)",
    ".contiguous()",
    ".clone()",
)
PLAIN = ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.Constant


def operands(scope: Scope) -> Iterator[tuple[ast.expr, str]]:
    """What may lack a factor or a term, and what it is part of."""
    for node in scope.nodes:
        match node:
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
                yield from ((one, "sum") for one in (left, right))
            case ast.BinOp(left=left, op=ast.Mult() | ast.Div(), right=right):
                yield from ((one, "product") for one in (left, right))
            case ast.BinOp(left=left, op=ast.FloorDiv() | ast.Mod()):
                yield node, "value"
                yield left, "sum"
            case ast.BinOp(op=ast.MatMult()):
                yield node, "product"
            case ast.Slice(lower=lower, upper=upper):
                yield from ((one, "bound") for one in (lower, upper) if one)
            case ast.Call(func=ast.Name(id="range" | "slice"), args=arguments):
                yield from ((one, "bound") for one in arguments)
            case ast.Call(func=function, args=arguments):
                inside = module(getattr(function, "value", None))
                if inside or isinstance(function, ast.Name):
                    yield from ((one, "value") for one in arguments)
            case ast.Assign(value=value) | ast.AugAssign(value=value):
                if not isinstance(value, ast.Tuple):
                    yield value, "value"
            case ast.Return(value=ast.Tuple(elts=elements)):
                yield from ((one, "value") for one in elements)
            case ast.Return(value=ast.expr() as value):
                yield value, "value"


def fit(node: ast.expr) -> bool:
    """Whether an operand can be put in brackets and is no text and no None."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float) and not isinstance(node.value, bool)
    return isinstance(node, PLAIN | ast.BinOp | ast.UnaryOp)


def additions(scope: Scope) -> Iterator[Change]:
    """One more factor or term beside an operand; a bound changed by one."""
    seen = set()
    for node, part_of in operands(scope):
        if not fit(node) or node in seen:
            continue
        seen.add(node)
        span = scope.source.span(node)
        words = scope.source.words(*span)
        beside = scope.candidates(node)
        sizes = [name for name in beside if name in scope.sizes]
        others = [name for name in beside if name not in scope.sizes]
        near = scope.loads(statement_of(scope, node)) - scope.sizes
        kind = "bound" if part_of == "bound" else "term"
        if part_of in ("bound", "sum", "value"):
            for rank, more in enumerate(("+ 1", "- 1")):
                new = f"({words} {more})"
                yield Change(
                    kind, span, ((*span, new),), 1 if kind == "bound" else 2, rank
                )
        if part_of == "bound":
            for rank, name in enumerate(sizes + others):
                for sign in "+-":
                    new = f"({words} {sign} {name})"
                    yield Change(kind, span, ((*span, new),), 4, rank)
            continue
        news = [f"({words} * {factor})" for factor in ("0.5", "2")]
        yield Change("sign", span, ((*span, f"(-({words}))"),), 1)
        factors = [*others, *scope.options, *sizes]
        for rank, new in enumerate(news):
            yield Change("factor", span, ((*span, new),), 2, rank)
        for rank, name in enumerate(factors):
            if name != words:
                tier = 5 if name in sizes else 4
                tier = 2 if name in near or name in scope.options else tier
                new = f"({words} * {name})"
                yield Change("factor", span, ((*span, new),), tier, rank)
        for rank, name in enumerate(sizes):
            yield Change("factor", span, ((*span, f"({words} / {name})"),), 4, rank)
        if part_of == "sum":
            for rank, name in enumerate([*others, *scope.options]):
                for sign in "-+":
                    new = f"({words} {sign} {name})"
                    tier = 3 if name in near else 4
                    yield Change("term", span, ((*span, new),), tier, rank)


def shifts(scope: Scope) -> Iterator[Change]:
    """Both bounds of a slice moved by a variable; of two axes by the two variables."""
    for node in scope.of_kind(ast.Subscript):
        assert isinstance(node, ast.Subscript)
        inside = node.slice
        every = inside.elts if isinstance(inside, ast.Tuple) else [inside]
        slices = [s for s in every if isinstance(s, ast.Slice) and (s.lower or s.upper)]
        beside = scope.candidates(node)
        if not slices or any(one.step for one in slices):
            continue
        for rank, name in enumerate(beside):
            other = other_axis(name)
            if len(slices) == 2 and other in beside and other != name:
                parts = _moved(scope, slices[0], name), _moved(scope, slices[1], other)
                about = parts[0][0], parts[1][1]
                yield Change("bound", about, parts, 1, rank)
            for one in slices:
                part = _moved(scope, one, name)
                yield Change("bound", part[:2], (part,), 3 if one.lower else 1, rank)


def _moved(scope: Scope, node: ast.Slice, by: str) -> Part:
    """A slice that begins and ends later."""
    lower = f"({scope.source.text(node.lower)}) + {by}" if node.lower else by
    upper = f"({scope.source.text(node.upper)}) + {by}" if node.upper else ""
    return (*scope.source.span(node), f"{lower} : {upper}")


def calls(scope: Scope) -> Iterator[Change]:
    """One more method behind a value, an argument or an operand of @."""
    for node in scope.nodes:
        likely: list[ast.expr] = []
        match node:
            case ast.BinOp(left=left, op=ast.MatMult(), right=right):
                likely = [left, right]
            case ast.Assign(value=ast.expr() as value):
                likely = [value]
            case ast.Return(value=ast.Tuple(elts=elements)):
                likely = elements
            case ast.Return(value=ast.expr() as value):
                likely = [value]
            case ast.Call(func=ast.Name(), args=arguments):
                likely = arguments
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                likely = [left, right]
        for one in likely:
            size = isinstance(one, ast.Name) and one.id in scope.sizes
            if size or isinstance(one, ast.Constant) or not fit(one):
                continue
            span = scope.source.span(one)
            words = scope.source.words(*span)
            for rank, call in enumerate(CALLS):
                new = f"{words}{call}" if isinstance(one, PLAIN) else f"({words}){call}"
                tier = 2 if isinstance(node, ast.BinOp) and rank == 0 else 3
                yield Change("call", span, ((*span, new),), tier, rank)


def omissions(scope: Scope) -> Iterator[Change]:
    """One factor, term, call, condition, argument or statement left out."""
    source = scope.source
    for node in scope.nodes:
        match node:
            case ast.BinOp(left=left, op=op, right=right):
                sign = SIGNS.get(type(op), ("",))[0]
                at = source.between(left, right, sign) if sign else None
                if at is None:
                    continue
                start, end = source.span(node)
                left_words = source.words(start, at).rstrip()
                gone = (start + len(left_words.encode()), end)
                yield Change("without", (at, end), ((*gone, ""),), 0)
                right_words = source.words(at + len(sign), end).lstrip()
                gone = (start, end - len(right_words.encode()))
                new = f"-{right_words}" if isinstance(op, ast.Sub) else right_words
                about = (start, at + len(sign))
                yield Change("without", about, ((start, end, f"({new})"),), 0)
            case ast.Call(func=ast.Attribute(value=value)) if not module(value):
                start, end = _behind(scope, value, node)
                yield Change("without", (start, end), ((start, end, ""),), 0)
            case ast.Call(func=function, args=[only]):
                span, inner = source.span(node), source.span(only)
                about, start = source.span(function), source.span(function)[0]
                if isinstance(only, PLAIN | ast.BinOp | ast.UnaryOp):
                    new = f"({source.words(*inner)})"
                    yield Change("without", about, ((start, span[1], new),), 2)
            case ast.Call(func=ast.Name(id="min" | "max") as function, args=[_, _]):
                span = source.span(node)
                for rank, one in enumerate(node.args):
                    part = (*span, f"({source.text(one)})")
                    yield Change("without", source.span(function), (part,), 1, rank)
            case ast.Attribute(attr="mT" | "T" | "data", value=value):
                end = source.span(node)[1]
                start = end - len(node.attr) - 1
                yield Change("without", (start, end), ((start, end, ""),), 0)
            case ast.Subscript(value=value, ctx=ast.Load()):
                start, end = _behind(scope, value, node)
                yield Change("without", (start, end), ((start, end, ""),), 1)
                axis = _picked(node.slice)
                if axis is not None:
                    new = f".sum({axis})"
                    yield Change("value", (start, end), ((start, end, new),), 1)
            case ast.BoolOp(op=op, values=values):
                for i, value in enumerate(values):
                    span = source.span(value)
                    new = "True" if isinstance(op, ast.And) else "False"
                    yield Change("without", span, ((*span, new),), 0, i)
            case ast.IfExp(test=test) | ast.If(test=test) | ast.While(test=test):
                span = source.span(test)
                for rank, new in enumerate(("True", "False")):
                    yield Change("test", span, ((*span, new),), 1, rank)
        if isinstance(node, ast.Call):
            yield from _keywords(scope, node)


def _picked(index: ast.expr) -> int | None:
    """The axis along which an index such as [:, :, 0] picks one element."""
    every = index.elts if isinstance(index, ast.Tuple) else [index]
    whole = all(isinstance(e, ast.Slice) and not e.upper for e in every[:-1])
    return len(every) - 1 if whole and isinstance(every[-1], ast.Constant) else None


def _behind(scope: Scope, inner: ast.AST, node: ast.AST) -> tuple[int, int]:
    """What stands behind a value, after the brackets around it: .sum(0) or [:, k]."""
    start, end = scope.source.span(inner)[1], scope.source.span(node)[1]
    words = scope.source.data[start:end]
    return end - len(words.lstrip(b") \n")), end


def _keywords(scope: Scope, node: ast.Call) -> Iterator[Change]:
    """One named argument of a call left out, with its comma."""
    data = scope.source.data
    for keyword in node.keywords:
        start, end = about = scope.source.span(keyword)
        behind = len(data[end:]) - len(data[end:].lstrip(b" "))
        before = data[:start].rstrip(b" ")
        if data[end + behind : end + behind + 1] == b",":
            end += behind + 1
        elif before.endswith(b","):
            start = len(before) - 1
        if keyword.arg is not None:
            yield Change("without", about, ((start, end, ""),), 1)


def statements(scope: Scope) -> Iterator[Change]:
    """A statement left out; break for continue; a variable set to 0 in the loop."""
    source = scope.source
    for node in scope.statements:
        span = source.span(node)
        match node:
            case ast.Break():
                yield Change("statement", span, ((*span, "continue"),), 0)
            case ast.Continue():
                yield Change("statement", span, ((*span, "break"),), 0)
            case ast.Assign() | ast.AugAssign():
                yield Change("without", span, ((*span, "pass"),), 1)
            case ast.Expr(value=ast.Call()):
                yield Change("without", span, ((*span, "pass"),), 1)
            case ast.For(body=[first, *_]):
                if not isinstance(first, ast.For | ast.If | ast.While | ast.With):
                    yield from _resets(scope, node, source.span(first)[0])


def _resets(scope: Scope, loop: ast.For, at: int) -> Iterator[Change]:
    """Each variable that a loop adds to, set to 0 where its body begins."""
    added = {}
    for node in ast.walk(loop):
        match node:
            case ast.AugAssign(target=ast.Name(id=name) as target):
                added[name] = target
            case ast.Assign(targets=[ast.Name(id=name) as target], value=value):
                used = {n.id for n in ast.walk(value) if isinstance(n, ast.Name)}
                if name in used:
                    added[name] = target
    for name, target in added.items():
        if scope.names.get(name, loop.lineno) < loop.lineno:
            about = scope.source.span(target)
            yield Change("reset", about, ((at, at, f"{name} = {name} * 0; "),), 2)


ALL: tuple[Callable[[Scope], Iterator[Change]], ...] = (
    additions,
    shifts,
    calls,
    omissions,
    statements,
)
