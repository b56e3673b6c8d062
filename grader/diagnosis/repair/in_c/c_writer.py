# SPDX-License-Identifier: MIT
"""Writes a C file in which a number chooses one of many edits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby

from pycparser import c_ast
from pycparser.c_generator import CGenerator

CHOSEN = "convlab_edit"
TURNS = "convlab_turns"  # turns of loops that a call still has; an edit may never end
TURN = f"if (!--{TURNS}) __builtin_trap();"
_MARK = re.compile(r"/\*(\d+)\*/")
_ERROR = re.compile(r"^[^:\n]+:(\d+):\d+: (?:fatal )?error:", re.M)


@dataclass
class Choices:
    """What each edit puts in place of an expression or of a statement, by its number.

    The keys are the identities of the tree's nodes.
    """

    values: dict[int, list[tuple[int, str]]] = field(default_factory=dict)
    statements: dict[int, list[tuple[int, str]]] = field(default_factory=dict)
    before: dict[int, list[tuple[int, str]]] = field(default_factory=dict)


class _Writer(CGenerator):  # type: ignore[misc]
    """Writes the tree, and at each changed node the choice between its edits."""

    def __init__(self, choices: Choices) -> None:
        super().__init__()
        self.choices = choices
        self._bodies: set[int] = set()  # of loops

    def visit_For(self, n: c_ast.For) -> str:
        """The text of a loop; each turn counts."""
        self._bodies.add(id(n.stmt))
        return str(super().visit_For(n))

    def visit_While(self, n: c_ast.While) -> str:
        """The same."""
        self._bodies.add(id(n.stmt))
        return str(super().visit_While(n))

    def visit_DoWhile(self, n: c_ast.DoWhile) -> str:
        """The same."""
        self._bodies.add(id(n.stmt))
        return str(super().visit_DoWhile(n))

    def visit(self, node: c_ast.Node) -> str:
        """The text of a node."""
        text: str = super().visit(node)
        edits = self.choices.values.get(id(node))
        return f"({_chosen(text, edits)})" if edits else text

    def _generate_stmt(self, n: c_ast.Node, add_indent: bool = False) -> str:
        """The text of a statement."""
        text: str = super()._generate_stmt(n, add_indent)
        before = self.choices.before.get(id(n), ())
        for number, added in before:
            text = f"/*{number}*/ if ({CHOSEN} == {number}) {added}\n{text}"
        edits = self.choices.statements.get(id(n), ())
        for number, other in edits:
            head = f"/*{number}*/ if ({CHOSEN} == {number}) {{ {other} }} else"
            text = f"{head}\n{{ {text} }}\n"
        if id(n) in self._bodies:
            return f"{{ {TURN} {text} }}\n"
        return f"{{ {text} }}\n" if before or edits else text


def _chosen(text: str, edits: Sequence[tuple[int, str]]) -> str:
    """An expression that is one of the edits, or the text itself.

    It compares once for a run of numbers, so that the unchanged code stays fast.
    """
    in_order = sorted(edits)
    runs = groupby(enumerate(in_order), lambda pair: pair[1][0] - pair[0])
    for _, run in runs:
        some = [edit for _, edit in run]
        first, last = some[0][0], some[-1][0]
        head = f"\n/*{first}*/ (unsigned){CHOSEN} - {first}u < {len(some)}u ? ("
        for number, other in some[:-1]:
            head += f"\n/*{number}*/ {CHOSEN} == {number} ? ({other}) :"
        text = f"{head}\n/*{last}*/ ({some[-1][1]})\n) : ({text})"
    return text


def written(nodes: Sequence[c_ast.Node], includes: Sequence[str], all: Choices) -> str:
    """A file of these declarations, with all edits in it; with 0 it is unchanged."""
    head = "\n".join(includes)
    body: str = _Writer(all).visit(c_ast.FileAST(list(nodes)))
    return f"{head}\nint {CHOSEN}, {TURNS};\n{body}"


def refused(text: str, errors: str) -> set[int]:
    """The numbers of the edits on the lines that a compiler names in its errors.

    An error behind a choice may come from any edit of this choice.
    """
    lines = text.splitlines()
    found: set[int] = set()
    for error in _ERROR.finditer(errors):
        at = min(int(error[1]), len(lines))
        if at > 0 and not _MARK.search(lines[at - 1]):
            at -= 0 if lines[at - 1][:1] == ")" else 1
            while at > 0 and (_MARK.search(lines[at - 1]) or lines[at - 1][:1] == ")"):
                found |= _marks(lines[at - 1])
                at -= 1
        elif at > 0:
            found |= _marks(lines[at - 1])
    return found


def _marks(line: str) -> set[int]:
    """The numbers of the edits on a line."""
    return {int(number) for number in _MARK.findall(line)}


def plain(node: c_ast.Node) -> str:
    """The text of a node without any edit."""
    text: str = CGenerator().visit(node)
    return text


def shown(node: c_ast.Node) -> str:
    """The text of a node as a person writes it: with few parentheses."""
    text: str = CGenerator(reduce_parentheses=True).visit(node)
    return text
