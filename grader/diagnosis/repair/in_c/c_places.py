# SPDX-License-Identifier: MIT
"""Lists the expressions and statements of a C function that an edit may change."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise

from pycparser import c_ast

from grader.diagnosis.repair.in_c.c_types import OTHER, Scope, Type, Types, called_name

_CANONICAL = re.compile(r"^omp\b.*\b(for|simd|taskloop)\b")
_POSITIONS = re.compile(r"at\d$|tensor_offset$")  # functions of an element's position
_COLLAPSED = re.compile(r"\bcollapse\s*\(\s*(\d+)")


@dataclass(frozen=True, eq=False)
class Place:
    """An expression that yields a value: an edit puts another value in its place.

    `parent` is the expression around it, None for a whole one. An `index` is part of
    an element's position.
    """

    node: c_ast.Node
    type: Type
    scope: Scope
    parent: c_ast.Node | None
    index: bool

    @property
    def around(self) -> str:
        """The operator of the operation that it is an operand of; "" for none."""
        return self.parent.op if isinstance(self.parent, c_ast.BinaryOp) else ""

    @property
    def is_right(self) -> bool:
        """Whether it is the right operand."""
        around = self.parent
        return isinstance(around, c_ast.BinaryOp) and around.right is self.node


@dataclass(frozen=True, eq=False)
class Step:
    """A statement that an edit may drop or replace, and the loops around it."""

    node: c_ast.Node
    scope: Scope
    loops: tuple[c_ast.Node, ...]
    fresh: tuple[frozenset[str], ...]  # names that are known before each of the loops


@dataclass
class Places:
    """Walks over one function, and notes what an edit may change."""

    types: Types
    scope: dict[str, Type]
    values: list[Place] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    pairs: list[tuple[c_ast.Node, c_ast.Node]] = field(default_factory=list)
    declared: dict[str, c_ast.Decl] = field(default_factory=dict)
    loops: tuple[c_ast.Node, ...] = ()
    known: tuple[frozenset[str], ...] = ()

    def function(self, node: c_ast.FuncDef) -> None:
        """Notes the places of a function."""
        arguments = node.decl.type.args
        for one in arguments.params if arguments else []:
            if isinstance(one, c_ast.Decl):
                self._name(one)
        self._statement(node.body)

    def _name(self, node: c_ast.Decl) -> None:
        """Makes a declared variable known from here on."""
        if node.name and not isinstance(node.type, c_ast.FuncDecl):
            self.scope = {**self.scope, node.name: self.types.of_declared(node.type)}

    def _statement(self, node: c_ast.Node | None) -> None:
        """Notes the places of a statement."""
        match node:
            case None | c_ast.Pragma():
                return
            case c_ast.Compound():
                outside = self.scope
                self._block(node.block_items or [])
                self.scope = outside
            case c_ast.Decl():
                self._declaration(node)
            case c_ast.For() | c_ast.While() | c_ast.DoWhile():
                self._loop(node, canonical=0)
            case c_ast.If():
                self._value(node.cond, None, index=False)
                self._step(node.iftrue)
                self._step(node.iffalse)
            case c_ast.Switch():
                self._value(node.cond, None, index=False)
                self._statement(node.stmt)
            case c_ast.Case() | c_ast.Default():
                self._block(node.stmts or [])
            case c_ast.Label():
                self._statement(node.stmt)
            case c_ast.Return():
                self._value(node.expr, None, index=False)
            case c_ast.ExprList():
                for one in node.exprs:
                    self._statement(one)
            case c_ast.Break() | c_ast.Continue() | c_ast.Goto():
                return
            case _:
                self._value(node, None, index=False)

    def _block(self, items: list[c_ast.Node]) -> None:
        """Notes the places of statements, the words of OpenMP between them heeded."""
        canonical = 0  # so many loops below keep their headers
        self.pairs += [pair for pair in pairwise(items) if not _fixed(*pair)]
        for item in items:
            if isinstance(item, c_ast.Pragma):
                said = str(item.string or "")
                if _CANONICAL.search(said):
                    collapsed = _COLLAPSED.search(said)
                    canonical = int(collapsed[1]) if collapsed else 1
                elif said.startswith("omp atomic"):
                    canonical = -1  # the statement below has a form of its own
                continue
            if canonical > 0 and isinstance(item, c_ast.For):
                self._loop(item, canonical)
            elif canonical == 0:
                self._step(item)
            canonical = 0

    def _step(self, node: c_ast.Node | None) -> None:
        """Notes a statement, and its places."""
        if node is None:
            return
        if not isinstance(node, (c_ast.Compound, c_ast.Decl, c_ast.Typedef)):
            self.steps.append(Step(node, self.scope, self.loops, self.known))
        self._statement(node)

    def _declaration(self, node: c_ast.Decl) -> None:
        """Notes the places of a variable's first value."""
        if "static" not in (node.storage or []):
            self._first(node.init, self.types.of_declared(node.type))
        self.declared[node.name] = node
        self._name(node)

    def _first(self, node: c_ast.Node | None, kind: Type) -> None:
        """Notes the places of an initialiser."""
        if isinstance(node, c_ast.InitList):
            for one in node.exprs:
                named = isinstance(one, c_ast.NamedInitializer)
                inner = one.expr if named else one
                literal = isinstance(inner, c_ast.Constant)
                if not literal or named or kind.kind == "pointer":
                    self._first(inner, kind.to or OTHER)
        elif node is not None:
            self._value(node, None, index=False, wanted=kind)

    def _loop(self, node: c_ast.Node, canonical: int) -> None:
        """Notes the places of a loop; of a canonical one those of its body alone."""
        outside, loops, known = self.scope, self.loops, self.known
        self.loops = (*loops, node)
        self.known = (*known, frozenset(outside))
        begin = getattr(node, "init", None)
        for one in begin.decls if isinstance(begin, c_ast.DeclList) else [begin]:
            if isinstance(one, c_ast.Decl):
                if canonical:
                    self._name(one)
                else:
                    self._declaration(one)
            elif one is not None and not canonical:
                self._statement(one)
        if not canonical:
            self._value(node.cond, None, index=False)
            self._statement(getattr(node, "next", None))
        body = node.stmt
        inner = body.block_items if isinstance(body, c_ast.Compound) else [body]
        if canonical > 1 and inner and isinstance(inner[0], c_ast.For):
            self._loop(inner[0], canonical - 1)
        else:
            self._step(body)
        self.scope, self.loops, self.known = outside, loops, known

    def _value(
        self,
        node: c_ast.Node | None,
        parent: c_ast.Node | None,
        *,
        index: bool,
        wanted: Type = OTHER,
    ) -> None:
        """Notes an expression of which the value is used, and its parts.

        A literal counts as a number of the `wanted` type: C converts it to that.
        """
        if node is None or isinstance(node, (c_ast.Typename, c_ast.Compound)):
            return
        kind = self.types.of(node, self.scope)
        if isinstance(node, c_ast.Constant) and wanted.number and kind.number:
            kind = wanted
        self.values.append(Place(node, kind, self.scope, parent, index))
        match node:
            case c_ast.Assignment():
                self._target(node.lvalue)
                wanted = self.types.of(node.lvalue, self.scope)
                self._value(node.rvalue, node, index=index, wanted=wanted)
            case c_ast.FuncCall():
                self._arguments(node, index=index)
            case c_ast.UnaryOp(op="sizeof"):
                return
            case c_ast.UnaryOp(op="&" | "++" | "--" | "p++" | "p--"):
                self._target(node.expr)
            case c_ast.StructRef(type="."):
                self._target(node.name)
            case c_ast.StructRef():
                self._value(node.name, node, index=index)
            case c_ast.CompoundLiteral():
                self._first(node.init, kind)
            case c_ast.ArrayRef():
                self._value(node.name, node, index=index)
                self._value(node.subscript, node, index=True)
            case _:
                for one in _parts(node):
                    self._value(one, node, index=index)

    def _arguments(self, node: c_ast.FuncCall, *, index: bool) -> None:
        """Notes the arguments of a call."""
        called = called_name(node)
        given = node.args.exprs if node.args else []
        inner = index or bool(_POSITIONS.match(called))
        wanted = self.types.parameters.get(called, [])
        for i, one in enumerate(given):
            kind = wanted[i] if i < len(wanted) else OTHER
            self._value(one, node, index=inner, wanted=kind)

    def _target(self, node: c_ast.Node) -> None:
        """Notes the parts of an expression that is written to, or has its address."""
        match node:
            case c_ast.StructRef(type="."):
                self._target(node.name)
            case c_ast.StructRef():
                self._value(node.name, node, index=False)
            case c_ast.ArrayRef():
                if isinstance(node.name, c_ast.StructRef):
                    self._target(node.name)
                else:
                    self._value(node.name, node, index=False)
                self._value(node.subscript, node, index=True)
            case c_ast.UnaryOp(op="*"):
                self._value(node.expr, node, index=False)
            case c_ast.CompoundLiteral():
                self._first(node.init, OTHER)


def _fixed(*statements: c_ast.Node) -> bool:
    """Whether one of two neighbouring statements cannot change its place."""
    fixed = (c_ast.Decl, c_ast.Pragma, c_ast.Return, c_ast.Label, c_ast.Case)
    return any(isinstance(one, (*fixed, c_ast.Default)) for one in statements)


def _parts(node: c_ast.Node) -> list[c_ast.Node]:
    """The operands of an expression."""
    match node:
        case c_ast.Cast() | c_ast.UnaryOp():
            return [node.expr]
        case c_ast.BinaryOp():
            return [node.left, node.right]
        case c_ast.TernaryOp():
            return [node.cond, node.iftrue, node.iffalse]
        case c_ast.ExprList():
            return list(node.exprs)
    return []
