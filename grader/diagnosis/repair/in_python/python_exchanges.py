# SPDX-License-Identifier: MIT
"""Changes of a Python file that put something else in place of what stands there."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Callable, Iterator

from grader.diagnosis.repair.in_python.python_source import (
    MODULES,
    NOT_OPTIONS,
    RECEIVERS,
    Change,
    Scope,
)

OTHER_AXIS = str.maketrans("hwHWxy01", "whWHyx10")
SIDES = {"top": "left", "left": "top", "rows": "columns", "columns": "rows"}
ALIKE = (  # functions that stand for each other
    (
        *("exp", "expm1", "log", "log1p", "tanh", "sigmoid", "erf", "sqrt", "rsqrt"),
        *("relu", "abs", "sin", "cos"),
    ),
    ("sum", "mean", "amax", "amin"),
    ("min", "max", "sum"),
    ("minimum", "maximum"),
    ("floor", "ceil", "round", "trunc"),
    ("zeros", "ones"),
    ("zeros_like", "ones_like"),
    ("new_zeros", "new_ones"),
    ("var", "std"),
    ("fold", "unfold"),
)
RULES = ("(1 + x)", "(x - 1)", "(1 - x)", "(x * x)", "(1 - x * x)", "(x * (1 - x))")
NUMBER = re.compile(r"(?<![\w.])\d+\.\d+(?:e-?\d+)?(?![\w.])")


def names(scope: Scope) -> Iterator[Change]:
    """Another variable in place of one; first the same one of the other axis."""
    uses: dict[tuple[ast.AST, str], list[ast.Name]] = {}
    for node in scope.of_kind(ast.Name):
        assert isinstance(node, ast.Name)
        if not isinstance(node.ctx, ast.Load) or node.id not in scope.names:
            continue
        span = scope.source.span(node)
        uses.setdefault((statement_of(scope, node), node.id), []).append(node)
        for rank, name in enumerate(scope.candidates(node)):
            if name != node.id:
                tier = tier_of(scope, node.id, name)
                yield Change("name", span, ((*span, name),), tier, rank)
        if "inputs" in scope.names and node.id != "inputs":  # of setup_context
            for rank in range(3):
                yield Change("name", span, ((*span, f"inputs[{rank}]"),), 1, rank)
    for (_, old), nodes in uses.items():
        spans = [scope.source.span(node) for node in nodes]
        for rank, name in enumerate(scope.candidates(nodes[0])):
            if name != old and len(nodes) > 1:
                parts = tuple((*span, name) for span in spans)
                tier = tier_of(scope, old, name) + 2
                yield Change("each", spans[0], parts, tier, rank)


def tier_of(scope: Scope, old: str, new: str) -> int:
    """How likely a name was taken for another one."""
    if new == other_axis(old):
        return 0
    if (old in scope.sizes) != (new in scope.sizes):
        return 5
    return 1 if alike(old, new) else 2


def alike(one: str, two: str) -> bool:
    """Whether names begin or end alike, as grad_input and grad_weight do."""
    words, others = one.split("_"), two.split("_")
    if len(one) < 3 or len(two) < 3:
        return len(one) == len(two)
    return words[0] == others[0] or words[-1] == others[-1]


def statement_of(scope: Scope, node: ast.AST) -> ast.AST:
    """The statement that a node belongs to."""
    while not isinstance(node, ast.stmt) and node in scope.parents:
        node = scope.parents[node]
    return node


def exchanged_names(scope: Scope) -> Iterator[Change]:
    """Two names of one statement in each other's place, or of the whole function."""
    uses: dict[ast.AST | None, dict[str, list[ast.Name]]] = {}
    for node in scope.of_kind(ast.Name):
        assert isinstance(node, ast.Name)
        if isinstance(node.ctx, ast.Load) and node.id in scope.names:
            for place in (statement_of(scope, node), None):
                of_place = uses.setdefault(place, {})
                of_place.setdefault(node.id, []).append(node)
    for place, of_place in uses.items():
        for rank, (one, two) in enumerate(itertools.combinations(of_place, 2)):
            if (one in scope.sizes) == (two in scope.sizes):
                spans = [(scope.source.span(node), two) for node in of_place[one]]
                spans += [(scope.source.span(node), one) for node in of_place[two]]
                parts = tuple((*span, new) for span, new in spans)
                kind, tier = ("exchange", 2) if place else ("swap", 4)
                if place and two == other_axis(one):
                    tier = 0
                yield Change(kind, spans[0][0], parts, tier, rank)


def pairs(scope: Scope) -> Iterator[Change]:
    """Two names of both axes in place of two others: IH and IW for OH and OW."""
    for node in scope.nodes:
        elements = getattr(node, "elts", getattr(node, "args", []))
        if not isinstance(node, ast.Tuple | ast.List | ast.Call):
            continue
        for one, two in itertools.pairwise(elements):
            if not isinstance(one, ast.Name) or not isinstance(two, ast.Name):
                continue
            if two.id != other_axis(one.id):
                continue
            spans = scope.source.span(one), scope.source.span(two)
            beside = scope.candidates(node)
            for rank, name in enumerate(beside):
                other = other_axis(name)
                if other in beside and name not in (one.id, two.id, other):
                    parts = ((*spans[0], name), (*spans[1], other))
                    about = (spans[0][0], spans[1][1])
                    yield Change("names", about, parts, 1, rank)


def other_axis(name: str) -> str:
    """The name of the same number along the other axis: OW for OH."""
    return SIDES.get(name, name.translate(OTHER_AXIS))


def attributes(scope: Scope) -> Iterator[Change]:
    """Another attribute of ctx or self; another index of an option."""
    known = [words for words in scope.options if words.split(".")[0] in RECEIVERS]
    for node in scope.nodes:
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attr, ctx=ast.Load()):
                if name in RECEIVERS and attr not in NOT_OPTIONS:
                    span = scope.source.span(node)
                    others = [words for words in known if "[" not in words]
                    for rank, words in enumerate(others):
                        if words.startswith(f"{name}.") and words != f"{name}.{attr}":
                            yield Change("name", span, ((*span, words),), 1, rank)


def numbers(scope: Scope) -> Iterator[Change]:
    """Another number in place of one, and False in place of True."""
    of_file = {float(n): n for n in NUMBER.findall(scope.source.data.decode())}
    for node in scope.of_kind(ast.Constant):
        assert isinstance(node, ast.Constant)
        value, (start, end) = node.value, scope.source.span(node)
        about, kind = (start, end), "number"
        parent = scope.parents[node]
        if isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.USub):
            about = start, _ = scope.source.span(parent)
            value = -value if isinstance(value, int | float) else value
            parent = scope.parents.get(parent, parent)
        if isinstance(parent, ast.Subscript):
            kind, about = "index", scope.source.span(parent)
        if isinstance(node.value, bool):
            yield Change("value", (start, end), ((start, end, str(not value)),), 0)
        elif isinstance(value, int):
            others = dict.fromkeys(
                (1 - value, value - 1, value + 1, 0, 1, 2, 3, -1, -2, -value)
            )
            likely = 0 if kind == "index" else 1
            for rank, number in enumerate(n for n in others if n != value):
                new = str(number) if number >= 0 else f"({number})"
                tier = likely + (rank > 3)
                yield Change(kind, about, ((start, end, new),), tier, rank)
            new = f"{value}.5"
            yield Change(kind, about, ((start, end, new),), 5, 20)
        elif isinstance(value, float):
            near = [(abs(n - value), text) for n, text in of_file.items() if n != value]
            others_of_file = [text for _, text in sorted(near)][:6]
            texts = ["0", "1", repr(2 * value), repr(value / 2), repr(-value)]
            for rank, new in enumerate([*others_of_file, *texts]):
                yield Change(kind, about, ((start, end, f"({new})"),), 1, rank)


def functions(scope: Scope) -> Iterator[Change]:
    """Another function of the same kind; in one place, and everywhere."""
    everywhere: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for node in scope.of_kind(ast.Call):
        assert isinstance(node, ast.Call)
        start, end = scope.source.span(node.func)
        match node.func:
            case ast.Attribute(value=value, attr=old):
                about = (start, end) if module(value) else (end - len(old), end)
            case ast.Name(id=old):
                about = (start, end)
            case _:
                continue
        others = [name for group in ALIKE if old in group for name in group]
        for rank, new in enumerate(name for name in others if name != old):
            part = (end - len(old), end, new)
            yield Change("function", about, (part,), 0 if rank < 3 else 2, rank)
            everywhere.setdefault((old, new), []).append((about[0], end))
        if old in ALIKE[0]:
            yield from _rules(scope, node, about)
        if old in ("reshape", "view") and not module(getattr(node.func, "value", None)):
            yield from _turned(scope, node, about)
    for rank, ((old, new), spans) in enumerate(everywhere.items()):
        if len(spans) > 1:
            parts = tuple((end - len(old), end, new) for _, end in spans)
            yield Change("functions", spans[0], parts, 1, rank)


def _rules(scope: Scope, node: ast.Call, about: tuple[int, int]) -> Iterator[Change]:
    """A few operations in place of a function: 1 + x for exp(x)."""
    given = list(node.args)
    if isinstance(node.func, ast.Attribute) and not module(node.func.value):
        given.append(node.func.value)
    if len(given) == 1 and not node.keywords:
        words = f"({scope.source.text(given[0])})"
        for rank, rule in enumerate(RULES):
            part = (*scope.source.span(node), rule.replace("x", words))
            yield Change("function", about, (part,), 2, rank)


def _turned(scope: Scope, node: ast.Call, about: tuple[int, int]) -> Iterator[Change]:
    """transpose in place of reshape: the same shape, but other elements."""
    end = scope.source.span(node)[1]
    start = about[0] - 1  # the point
    new = ".transpose(-1, -2)"
    yield Change("function", about, ((start, end, new),), 1)
    if len(node.args) >= 2:
        spans = [scope.source.span(one) for one in node.args[-2:]]
        texts = [scope.source.words(*span) for span in spans]
        exchanged = ((*spans[0], texts[1]), (*spans[1], texts[0]))
        yield Change("axes", about, (*exchanged, (end, end, new)), 1)


def layouts(scope: Scope) -> Iterator[Change]:
    """x.reshape(a, b) for x.reshape(b, a).transpose(0, 1): blocks for one in turn."""
    source = scope.source
    for node in scope.nodes:
        match node:
            case ast.Call(
                func=ast.Attribute(
                    value=ast.Call(
                        func=ast.Attribute(attr="reshape" | "view"), args=sizes
                    ) as inner,
                    attr="transpose",
                ),
                args=[ast.Constant(value=int(one)), ast.Constant(value=int(two))],
            ) if max(one, two) < len(sizes):
                spans = source.span(sizes[one]), source.span(sizes[two])
                behind = source.span(inner)[1], source.span(node)[1]
                exchanged = (
                    (*spans[0], source.words(*spans[1])),
                    (*spans[1], source.words(*spans[0])),
                )
                yield Change("axes", behind, (*exchanged, (*behind, "")), 1)


def module(node: ast.AST | None) -> bool:
    """Whether an expression is a module, as torch.nn.functional."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id in MODULES


ALL: tuple[Callable[[Scope], Iterator[Change]], ...] = (
    names,
    exchanged_names,
    pairs,
    attributes,
    numbers,
    functions,
    layouts,
)
