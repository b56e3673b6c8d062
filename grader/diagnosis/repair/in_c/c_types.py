# SPDX-License-Identifier: MIT
"""Finds the type of an expression of C, as far as an edit has to know it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pycparser import c_ast

from grader.diagnosis.repair.in_c.c_writer import plain

_FLOATS = ("float", "double")
_INTS = {  # words of a type, sorted -> its usual name
    "_Bool": "_Bool",
    "char": "char",
    "char signed": "signed char",
    "char unsigned": "unsigned char",
    "short": "short",
    "short unsigned": "unsigned short",
    "int": "int",
    "unsigned": "unsigned int",
    "int unsigned": "unsigned int",
    "long": "long",
    "int long": "long",
    "long unsigned": "unsigned long",
    "long long": "long long",
    "long long unsigned": "unsigned long long",
}
_RANKS = ("int", "unsigned int", "long", "unsigned long", "long long")
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=", "&&", "||")


@dataclass(frozen=True)
class Type:
    """A type: its kind, "int", "float", "pointer", "struct" or "other", and its name.

    A pointer, or an array, has the type that it points to.
    """

    kind: str
    name: str
    to: Type | None = None
    const: bool = field(default=False, compare=False)

    @property
    def number(self) -> bool:
        """Whether it is an integer or a floating-point number."""
        return self.kind in ("int", "float")


OTHER = Type("other", "")
VOID = Type("other", "void")
INT = Type("int", "int")
Scope = Mapping[str, Type]


class Types:
    """The types, functions and enumerators that a file and its headers declare."""

    def __init__(self, tree: c_ast.FileAST) -> None:
        self.typedefs: dict[str, c_ast.Node] = {}
        self.members: dict[str, dict[str, Type]] = {}  # name of a struct -> members
        self.results: dict[str, Type] = {}  # name of a function -> type of its result
        self.parameters: dict[str, list[Type]] = {}  # name of a function -> theirs
        self.enumerators: dict[str, tuple[str, ...]] = {}  # each -> all of its enum
        self.anonymous: dict[int, str] = {}  # id of a struct without a name -> name
        for node in tree.ext:
            self._declare(node)

    def _declare(self, node: c_ast.Node) -> None:
        """Takes a declaration of the whole file."""
        declared = node.decl if isinstance(node, c_ast.FuncDef) else node
        kind = getattr(declared, "type", None)
        if isinstance(node, c_ast.Typedef):
            self.typedefs[node.name] = node.type
            self.of_declared(node.type)
        elif isinstance(kind, c_ast.FuncDecl):
            self.results[declared.name] = self.of_declared(kind.type)
            self.parameters[declared.name] = [
                self.of_declared(one.type)
                for one in (kind.args.params if kind.args else [])
                if isinstance(one, (c_ast.Decl, c_ast.Typename))
            ]
        elif kind is not None:
            self.of_declared(kind)

    def of_declared(self, node: c_ast.Node) -> Type:
        """The type that a declaration states."""
        match node:
            case c_ast.TypeDecl():
                found = self.of_declared(node.type)
                const = "const" in node.quals
                return Type(found.kind, found.name, found.to, const)
            case c_ast.Typename():
                return self.of_declared(node.type)
            case c_ast.PtrDecl() | c_ast.ArrayDecl():
                to = self.of_declared(node.type)
                if isinstance(node.type, c_ast.ArrayDecl):  # rows of one length
                    length = plain(node.type.dim) if node.type.dim else ""
                    to = replace(to, name=f"{to.name} [{length}]")
                if to.to:  # behind a second pointer C tells const apart
                    to = replace(to, name=f"{to.name} {to.const} {to.to.const}")
                fixed = isinstance(node, c_ast.ArrayDecl) or "const" in node.quals
                return Type("pointer", f"{to.name} *", to, const=fixed)
            case c_ast.IdentifierType():
                return self._named(node.names)
            case c_ast.Enum():
                listed = node.values.enumerators if node.values else []
                names = tuple(one.name for one in listed if hasattr(one, "name"))
                self.enumerators.update(dict.fromkeys(names, names))
                return Type("int", "int")
            case c_ast.Struct():
                return self._struct(node)
        return OTHER

    def _named(self, names: list[str]) -> Type:
        """A basic type, or one of a typedef."""
        if len(names) == 1 and names[0] in self.typedefs:
            return self.of_declared(self.typedefs[names[0]])
        words = " ".join(sorted(names))
        if words in _FLOATS:
            return Type("float", words)
        if words == "void":
            return VOID
        return Type("int", _INTS[words]) if words in _INTS else OTHER

    def _struct(self, node: c_ast.Struct) -> Type:
        """A struct, with its members noted."""
        name = node.name or self.anonymous.setdefault(
            id(node), f"struct {len(self.anonymous)}"
        )
        if node.decls is not None and name not in self.members:
            self.members[name] = {}
            for one in node.decls:
                if isinstance(one, c_ast.Decl) and one.name and not one.bitsize:
                    self.members[name][one.name] = self.of_declared(one.type)
        return Type("struct", name)

    def of(self, node: c_ast.Node | None, scope: Scope) -> Type:
        """The type of an expression; OTHER where an edit need not know it."""
        match node:
            case c_ast.ID():
                if node.name in self.enumerators:
                    return INT
                return scope.get(node.name, OTHER)
            case c_ast.Constant():
                return _constant(node)
            case c_ast.Cast():
                return self.of_declared(node.to_type)
            case c_ast.CompoundLiteral():
                return self.of_declared(node.type)
            case c_ast.FuncCall() if isinstance(node.name, c_ast.ID):
                return self.results.get(node.name.name, OTHER)
            case c_ast.ArrayRef():
                return self.of(node.name, scope).to or OTHER
            case c_ast.StructRef():
                return self._member(node, scope)
            case c_ast.Assignment():
                return self.of(node.lvalue, scope)
            case c_ast.TernaryOp():
                sides = (self.of(one, scope) for one in (node.iftrue, node.iffalse))
                return _common(*sides)
            case c_ast.UnaryOp():
                return self._unary(node, scope)
            case c_ast.BinaryOp():
                return self._binary(node, scope)
        return OTHER

    def _member(self, node: c_ast.StructRef, scope: Scope) -> Type:
        """The type of a member."""
        base = self.of(node.name, scope)
        if node.type == "->":
            base = base.to or OTHER
        return self.members.get(base.name, {}).get(node.field.name, OTHER)

    def _unary(self, node: c_ast.UnaryOp, scope: Scope) -> Type:
        """The type of an expression with one operand."""
        if node.op == "!":
            return INT
        if node.op == "sizeof":
            return Type("int", "unsigned long")
        inner = self.of(node.expr, scope)
        if node.op == "*":
            return inner.to or OTHER
        if node.op == "&":
            return Type("pointer", f"{inner.name} *", inner)
        return _common(inner, INT) if node.op in "+-~" else inner

    def _binary(self, node: c_ast.BinaryOp, scope: Scope) -> Type:
        """The type of an expression with two operands."""
        left, right = self.of(node.left, scope), self.of(node.right, scope)
        if node.op in _COMPARISONS:
            return INT if "other" not in (left.kind, right.kind) else OTHER
        if left.kind == right.kind == "pointer":
            return Type("int", "long")
        for one in (left, right):
            if one.kind == "pointer":
                return Type(one.kind, one.name, one.to)
        return _common(left, right)


def called_name(node: c_ast.FuncCall) -> str:
    """The name of the function that is called; "" for a pointer to a function."""
    return str(node.name.name) if isinstance(node.name, c_ast.ID) else ""


def _constant(node: c_ast.Constant) -> Type:
    """The type of a literal."""
    if node.type in ("float", "double"):
        return Type("float", node.type)
    if "int" in node.type:
        words = " ".join(sorted(node.type.split()))
        return Type("int", _INTS.get(words, "long"))
    return OTHER


def _common(left: Type, right: Type) -> Type:
    """The type in which C computes with two operands."""
    if not (left.number and right.number):
        return left if left == right or right.kind == "int" else right
    if "float" in (left.kind, right.kind):
        double = "double" in (left.name, right.name)
        return Type("float", "double" if double else "float")
    ranks = [_RANKS.index(one.name) for one in (left, right) if one.name in _RANKS]
    return Type("int", _RANKS[max(ranks, default=0)])
