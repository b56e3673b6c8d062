# SPDX-License-Identifier: MIT
"""Notes proposed edits of one function of a student's C file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from pycparser import c_ast

from grader.diagnosis.repair.in_c.c_file import CFile, line_of
from grader.diagnosis.repair.in_c.c_places import Place, Places
from grader.diagnosis.repair.in_c.c_types import Scope, Type, Types
from grader.diagnosis.repair.in_c.c_writer import shown
from grader.diagnosis.repair.small_change import Edit

RANKS = {  # kind -> what is kept first if a file has too many edits
    "operator": 0,
    "order": 0,
    "arguments": 0,
    "exchange": 0,
    "bound": 0,
    "without": 0,
    "function": 0,
    "functions": 0,
    "statement": 0,
    "swap": 0,
    "next": 0,
    "reset": 0,
    "number": 1,
    "sign": 1,
    "name": 2,
    "call": 2,
    "value": 3,
    "condition": 3,
    "both": 3,
    "factor": 4,
    "term": 5,
}
LAST = max(RANKS.values())
LONGEST = 60  # characters of what an edit says that stands there
_WORD = re.compile(r"(?<![\w\"])[A-Za-z_]\w*")
_OTHER_AXIS = {"h": "w", "w": "h", "H": "W", "W": "H"}

Texts = tuple[tuple[c_ast.Node, str], ...]


@dataclass(frozen=True, eq=False)
class Proposal:
    """An edit, and what it puts in place of expressions or statements, or before one.

    `text` follows each node: the C text that the edit puts there.
    """

    edit: Edit
    values: Texts = ()
    statements: Texts = ()
    before: Texts = ()
    scope: Scope = field(default_factory=dict)
    likely: bool = False  # more than others of its kind

    @property
    def rank(self) -> int:
        """How soon the edit is dropped if there are too many."""
        return min(RANKS[self.edit.kind], RANKS["condition"] if self.likely else LAST)


@dataclass
class Function:
    """One function, its places, and the edits that are proposed for it."""

    file: CFile
    types: Types
    node: c_ast.FuncDef
    places: Places
    constants: frozenset[str]  # variables of the whole file
    proposals: list[Proposal] = field(default_factory=list)
    used: frozenset[str] = frozenset()
    unused: frozenset[str] = frozenset()  # local variables that nothing reads
    own: frozenset[str] = frozenset()  # the file's functions that stand before it
    _seen: set[tuple[int, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Finds the names that occur in the function, and in the file before it."""
        self.own = frozenset(
            one.decl.name
            for one in self.file.own
            if isinstance(one, c_ast.FuncDef) and line_of(one) < line_of(self.node)
        )
        occurring = frozenset(names_in(self.node))
        self.used = occurring | self.constants
        self.unused = occurring - frozenset(_read(self.node.body))

    def variables(self, scope: Scope) -> Iterator[tuple[str, Type]]:
        """The variables that are known at a place and occur in this function."""
        for name, kind in scope.items():
            if name in self.used:
                yield name, kind

    def standing(self, node: c_ast.Node, text: str) -> str:
        """A text as it stands in a node's line; "" if it does not, or is long."""
        return self.file.standing(line_of(node), text) if len(text) <= LONGEST else ""

    def label(self, node: c_ast.Node) -> str:
        """What stands there: the whole node, or else the first name in it."""
        if found := self.standing(node, shown(node)):
            return found
        for name in names_in(node):
            if found := self.standing(node, name):
                return found
        return ""

    def value(
        self, place: Place, kind: str, old: str, new: str, *, likely: bool = False
    ) -> None:
        """Proposes another value in place of an expression."""
        text = f"({place.type.name})({new})" if place.type.number else new
        known = (id(place.node), text) in self._seen
        if not old or known or old.startswith("STATUS_"):
            return
        self._seen.add((id(place.node), text))
        edit = Edit(line_of(place.node), kind, old, new)
        values = ((place.node, text),)
        made = Proposal(edit, values, scope=place.scope, likely=likely)
        self.proposals.append(made)

    def at_line(self, proposal: Proposal) -> None:
        """Proposes an edit if what it says stands in its line."""
        if proposal.edit.old and self.file.standing(
            proposal.edit.line, proposal.edit.old
        ):
            self.proposals.append(proposal)

    def operator_line(self, left: c_ast.Node, right: c_ast.Node, op: str) -> int:
        """The line of the operator between two operands; 0 if none shows it."""
        for line in range(line_of(right), line_of(left) - 1, -1):
            if self.file.standing(line, op):
                return line
        return 0


def names_in(node: c_ast.Node) -> Iterator[str]:
    """The variables of a part of the tree, the declared ones too."""
    if isinstance(node, (c_ast.ID, c_ast.Decl)) and node.name:
        yield node.name
    for place, one in node.children():
        called = isinstance(node, c_ast.FuncCall) and place == "name"
        member = isinstance(node, c_ast.StructRef) and place == "field"
        if not called and not member:
            yield from names_in(one)


def _read(node: c_ast.Node) -> Iterator[str]:
    """The variables that a part of the tree reads, or takes the address of."""
    if isinstance(node, c_ast.ID):
        yield node.name
    written = isinstance(node, c_ast.Assignment) and isinstance(node.lvalue, c_ast.ID)
    for place, one in node.children():
        if not (written and place == "lvalue"):
            yield from _read(one)


def other_axis(text: str, scope: Scope) -> str:
    """An expression with height and width exchanged: `kw * p.stride_w`, of kh."""

    def exchanged(match: re.Match[str]) -> str:
        name = match[0]
        other = name[:-1] + _OTHER_AXIS.get(name[-1], name[-1])
        member = name[:-1].endswith("_") and match.string[match.start() - 1] == "."
        alike = other in scope and scope.get(name, scope[other]) == scope[other]
        return other if member or alike else name

    return _WORD.sub(exchanged, text)
