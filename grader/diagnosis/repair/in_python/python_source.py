# SPDX-License-Identifier: MIT
"""Reads a student's Python file: its functions, their names, and places of nodes."""

from __future__ import annotations

import ast
import bisect
from collections.abc import Iterator
from dataclasses import dataclass, field

Function = ast.FunctionDef | ast.AsyncFunctionDef
Part = tuple[int, int, str]  # first byte, byte after the last one, the new text

MODULES = {"torch", "math", "typing", "F", "nn"}  # no values: never exchanged
RECEIVERS = {"ctx", "self", "cls"}
NOT_OPTIONS = {"saved_tensors", "needs_input_grad", "save_for_backward"}


@dataclass(frozen=True)
class Change:
    """One change before it is made: the kind, the bytes it is about, what is replaced.

    A small tier is likely. Within a tier, the small ranks of all places come first.
    """

    kind: str
    about: tuple[int, int]
    parts: tuple[Part, ...]
    tier: int
    rank: int = 0


class Source:
    """A file's text as bytes, because ast counts columns in bytes of UTF-8."""

    def __init__(self, text: str) -> None:
        self.tree = ast.parse(text)
        self.data = text.encode()
        self.starts = [0]
        for line in self.data.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def span(self, node: ast.AST) -> tuple[int, int]:
        """The bytes of a node, from the first to the one after the last."""
        assert isinstance(node, ast.expr | ast.stmt | ast.keyword)
        assert node.end_lineno is not None and node.end_col_offset is not None
        start = self.starts[node.lineno - 1] + node.col_offset
        return start, self.starts[node.end_lineno - 1] + node.end_col_offset

    def words(self, start: int, end: int) -> str:
        """The text of these bytes."""
        return self.data[start:end].decode()

    def text(self, node: ast.AST) -> str:
        """The text of a node."""
        return self.words(*self.span(node))

    def between(self, left: ast.AST, right: ast.AST, sign: str) -> int | None:
        """Where an operator stands between its operands; None beside a comment."""
        start, end = self.span(left)[1], self.span(right)[0]
        gap = self.data[start:end]
        at = gap.find(sign.encode())
        return None if at < 0 or b"#" in gap else start + at

    def line(self, at: int) -> int:
        """The number of a byte's line, from 1 on."""
        return bisect.bisect_right(self.starts, at)

    def changed(self, parts: tuple[Part, ...]) -> str:
        """The whole text after a change."""
        made, at = [], 0
        for start, end, new in sorted(parts):
            made += [self.data[at:start], new.encode()]
            at = end
        return b"".join([*made, self.data[at:]]).decode()


@dataclass
class Scope:
    """One function, or the file's constants: the nodes that may be changed."""

    source: Source
    nodes: list[ast.AST]
    statements: list[ast.stmt]
    names: dict[str, int]  # a name -> the line after which it has a value
    sizes: set[str]  # the names of whole numbers
    options: list[str]  # ctx.alpha, stride[0] and the like, as they stand here
    later: int  # added to every tier: how far it is from the direction's own method
    parents: dict[ast.AST, ast.AST] = field(default_factory=dict)

    def candidates(self, node: ast.AST) -> list[str]:
        """The names that have a value where a node stands."""
        line = getattr(node, "lineno", 0)
        return [name for name, bound in self.names.items() if bound < line]

    def loads(self, node: ast.AST) -> set[str]:
        """The names that are read below a node."""
        return {
            one.id
            for one in ast.walk(node)
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)
        } & set(self.names)

    def of_kind(self, kind: type[ast.AST]) -> Iterator[ast.AST]:
        """All nodes of a kind, in the order of the file."""
        return (node for node in self.nodes if isinstance(node, kind))


def inner_nodes(top: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """All nodes below a node with their parents, but no types and no text."""
    for child in ast.iter_child_nodes(top):
        if isinstance(child, ast.JoinedStr | ast.pattern | ast.arguments):
            continue  # in a JoinedStr the columns are not those of the file
        if isinstance(top, ast.AnnAssign) and child is top.annotation:
            continue
        if isinstance(top, Function) and child not in top.body:
            continue
        yield child, top
        yield from inner_nodes(child)


def functions_of(tree: ast.Module) -> dict[str, list[tuple[str, Function]]]:
    """All functions by their names, each with the name of its class."""
    found: dict[str, list[tuple[str, Function]]] = {}
    for node in tree.body:
        inside = node.body if isinstance(node, ast.ClassDef) else [node]
        owner = node.name if isinstance(node, ast.ClassDef) else ""
        for one in inside:
            if isinstance(one, Function):
                found.setdefault(one.name, []).append((owner, one))
    return found


def called(function: Function) -> set[str]:
    """The names of what a function calls; `apply` too."""
    names = set()
    for node, _ in inner_nodes(function):
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Attribute):
            names.add(node.attr)
    return names


def reachable(tree: ast.Module, direction: str) -> list[tuple[Function, int]]:
    """The functions that a direction runs, and how far each is from its own method."""
    functions = functions_of(tree)
    roots: list[tuple[Function, int]] = []
    for name, all_of_name in functions.items():
        for owner, function in all_of_name:
            arguments = [one.arg for one in function.args.args]
            keeps = name == "forward" and "ctx" in arguments
            through = not owner and "apply" in called(function)
            if name == direction and "self" not in arguments:
                roots.append((function, 0))
            elif direction == "backward" and (name == "setup_context" or keeps):
                roots.append((function, 1))
            elif through or (direction == "forward" and name == "forward"):
                roots.append((function, 3))
    found = {function: far for function, far in sorted(roots, key=lambda one: one[1])}
    waiting = list(found)
    while waiting:
        function = waiting.pop(0)
        if direction == "backward" and "apply" in called(function):
            continue  # what it calls ran before forward
        for name in sorted(called(function) - {"forward", "backward", "setup_context"}):
            for _, helper in functions.get(name, []):
                if helper not in found and name != "__init__":
                    found[helper] = found[function]
                    waiting.append(helper)
    return sorted(found.items(), key=lambda one: (one[1], one[0].lineno))


def is_size(value: ast.AST, sizes: set[str], whole: set[str]) -> bool:
    """Whether an expression is a whole number, as far as it can be read."""
    match value:
        case ast.Constant(value=number):
            return isinstance(number, int)
        case ast.Name(id=name):
            return name in sizes
        case ast.Subscript(value=ast.Attribute(attr="shape"), slice=index):
            return not isinstance(index, ast.Slice)
        case ast.Call(func=ast.Attribute(attr="numel" | "size" | "dim")):
            return True
        case ast.Call(func=ast.Name(id=name)):
            return name in whole or name in ("len", "int")
        case ast.BinOp(left=left, right=right, op=op):
            both = is_size(left, sizes, whole) and is_size(right, sizes, whole)
            return both and not isinstance(op, ast.Div)
    return False


def whole_functions(tree: ast.Module) -> set[str]:
    """The functions of a file whose result is said to be an int."""
    return {
        name
        for name, found in functions_of(tree).items()
        if any(
            isinstance(f.returns, ast.Name) and f.returns.id == "int" for _, f in found
        )
    }


def sizes_of(nodes: list[ast.AST], names: set[str], whole: set[str]) -> set[str]:
    """The names that stand for whole numbers: capitals, shapes, counters of loops."""
    sizes = {name for name in names if name.isupper() and len(name) < 4}
    for node in nodes:
        match node:
            case ast.For(target=ast.Name(id=name), iter=ast.Call(func=counts)):
                if isinstance(counts, ast.Name) and counts.id == "range":
                    sizes.add(name)
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    sizes |= _whole(target, value, sizes, whole)
    return sizes


def _whole(
    target: ast.expr, value: ast.expr, sizes: set[str], whole: set[str]
) -> set[str]:
    """The names of one assignment that get whole numbers."""
    pairs = [(target, value)]
    if isinstance(target, ast.Tuple):
        if isinstance(value, ast.Attribute) and value.attr == "shape":
            return {one.id for one in target.elts if isinstance(one, ast.Name)}
        values = value.elts if isinstance(value, ast.Tuple) else []
        pairs = list(zip(target.elts, values))
    return {
        name.id
        for name, number in pairs
        if isinstance(name, ast.Name) and is_size(number, sizes, whole)
    }


def names_of(function: Function, nodes: list[ast.AST]) -> dict[str, int]:
    """All arguments and variables, with the line after which each has a value."""
    given = function.args
    arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    names = {one.arg: 0 for one in arguments if one.arg not in RECEIVERS}
    for node in nodes:
        if isinstance(node, ast.comprehension):
            for target in ast.walk(node.target):
                if isinstance(target, ast.Name):
                    names.setdefault(target.id, target.lineno - 1)
    empty = {
        target
        for node in nodes
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Constant)
        and node.value.value is None
        for target in node.targets
    }  # grad_input = None: this is no value to use
    stored = (n for n in nodes if isinstance(n, ast.Name) and n not in empty)
    for name in stored:
        if isinstance(name.ctx, ast.Store):
            names.setdefault(name.id, name.lineno)
    names.pop("_", None)
    return names


def options_of(source: Source, function: Function, nodes: list[ast.AST]) -> list[str]:
    """ctx.alpha, stride[0], input.shape[-1] and the like, each once."""
    found: dict[str, None] = {}
    receivers = {one.arg for one in function.args.args} & RECEIVERS
    for node in ast.walk(source.tree):
        match node:
            case ast.Attribute(value=ast.Name(id=name), ctx=ast.Store()):
                if name in receivers:
                    found[source.text(node)] = None
    for node in nodes:
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attr, ctx=ast.Load()):
                if name in RECEIVERS and attr not in NOT_OPTIONS:
                    found[source.text(node)] = None
            case ast.Subscript(slice=ast.Constant() | ast.UnaryOp(), ctx=ast.Load()):
                words = source.text(node)
                if len(words) <= 24 and "needs" not in words and "\n" not in words:
                    found[words] = None
    return list(found)


def constants_of(tree: ast.Module) -> dict[str, ast.Assign]:
    """The file's own constants: names that the module assigns one value."""
    return {
        node.targets[0].id: node
        for node in tree.body
        if isinstance(node, ast.Assign)
        and len(node.targets) == 1
        and isinstance(node.targets[0], ast.Name)
    }


def scopes(source: Source, direction: str) -> list[Scope]:
    """One scope for each function that a direction runs, and one for the constants."""
    whole = whole_functions(source.tree)
    constants = constants_of(source.tree)
    made, used = [], set()
    for function, later in reachable(source.tree, direction):
        parents = dict(inner_nodes(function))
        nodes = list(parents)
        names = names_of(function, nodes)
        loads = {node.id for node in nodes if isinstance(node, ast.Name)}
        used |= loads & set(constants)
        names.update({name: 0 for name in constants if name in loads})
        sizes = sizes_of(nodes, set(names), whole)
        for one in function.args.args:
            if isinstance(one.annotation, ast.Name) and one.annotation.id == "int":
                sizes.add(one.arg)
        made.append(
            Scope(
                source,
                nodes,
                [node for node in nodes if isinstance(node, ast.stmt)],
                names,
                sizes,
                options_of(source, function, nodes),
                later,
                parents,
            )
        )
    parents = {}
    for name, node in constants.items():
        if name in used:
            parents |= {node.value: node, **dict(inner_nodes(node.value))}
    if parents:
        made.append(Scope(source, list(parents), [], {}, set(), [], 0, parents))
    return made
