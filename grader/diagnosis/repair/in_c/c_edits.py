# SPDX-License-Identifier: MIT
"""Makes one C file of a student's file, with thousands of edits to choose from.

The file has a variable, `convlab_edit`. With 0 it does what the student's file does.
With i + 1 it does what that file does after edit i. So it is compiled once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from pathlib import Path

from pycparser import c_ast

from grader.diagnosis.repair.in_c import (
    c_additions,
    c_expressions,
    c_statements,
    c_writer,
)
from grader.diagnosis.repair.in_c.c_file import CFile, parsed
from grader.diagnosis.repair.in_c.c_places import Places
from grader.diagnosis.repair.in_c.c_proposals import Function, Proposal, names_in
from grader.diagnosis.repair.in_c.c_types import Type, Types, called_name
from grader.diagnosis.repair.small_change import Edit

MOST = 4_000  # edits of a file
PASSES = (c_expressions.propose, c_statements.propose, c_additions.propose)


@dataclass(frozen=True)
class Switchable:
    """A C file with all edits in it: `convlab_edit` == i + 1 chooses edits[i]."""

    text: str
    edits: list[Edit]
    file: CFile
    proposals: tuple[Proposal, ...]

    def without(self, errors: str) -> Switchable | None:
        """The same without the edits that a compiler's errors name; None for none."""
        refused = c_writer.refused(self.text, errors)
        kept = [p for i, p in enumerate(self.proposals) if i + 1 not in refused]
        return _written(self.file, kept) if refused else None


def switchable(
    file: Path, entry: str, dtype: str, options: Sequence[str] = ()
) -> Switchable | None:
    """The edits of a file, of the functions that `entry` needs: conv2d_forward, say.

    `dtype` is "f32" or "f64". None if the file cannot be read, or has no such function.
    """
    read = parsed(file, dtype, options)
    if read is None:
        return None
    try:
        proposals = _proposed(read, entry)
        return _written(read, proposals) if proposals else None
    except (RecursionError, AttributeError, LookupError, TypeError, ValueError):
        return None  # words of C that no module here has seen yet


def _proposed(file: CFile, entry: str) -> list[Proposal]:
    """All edits, the most important ones if there are too many, in the file's order."""
    types = Types(file.tree)
    variables = _variables(file.own, types)
    functions = []
    for node in _reached(file.own, entry):
        places = Places(types, dict(variables))
        places.function(node)
        constants = frozenset(variables)
        functions.append(Function(file, types, node, places, constants))
    for function in functions:
        for propose in PASSES:
            propose(function)
        c_statements.on_both_axes(function)
    found = [p for function in functions for p in function.proposals]
    found += c_statements.everywhere(functions)
    kept = set(nsmallest(MOST, range(len(found)), key=lambda i: found[i].rank))
    return [p for i, p in enumerate(found) if i in kept]


def _variables(nodes: Iterable[c_ast.Node], types: Types) -> dict[str, Type]:
    """The variables of the whole file."""
    return {
        node.name: types.of_declared(node.type)
        for node in nodes
        if isinstance(node, c_ast.Decl)
        and node.name
        and not isinstance(node.type, c_ast.FuncDecl)
    }


def _reached(nodes: Iterable[c_ast.Node], entry: str) -> list[c_ast.FuncDef]:
    """The functions that the entry calls, and those that they call, in order."""
    functions = {n.decl.name: n for n in nodes if isinstance(n, c_ast.FuncDef)}
    waiting, reached = [entry], set()
    while waiting:
        name = waiting.pop()
        if name in functions and name not in reached:
            reached.add(name)
            waiting += _called(functions[name])
    return [node for name, node in functions.items() if name in reached]


def _called(node: c_ast.Node) -> list[str]:
    """The names of functions in a part of the tree, called or handed on."""
    found = list(names_in(node))
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, c_ast.FuncCall):
            found.append(called_name(one))
        waiting += [child for _, child in one.children()]
    return found


def _written(file: CFile, proposals: Sequence[Proposal]) -> Switchable:
    """Numbers the edits, those of one place one after the other, and writes them."""
    ordered = _by_place(proposals)
    choices = c_writer.Choices()
    for number, proposal in enumerate(ordered, 1):
        for kept, changed in (
            (choices.values, proposal.values),
            (choices.statements, proposal.statements),
            (choices.before, proposal.before),
        ):
            for node, text in changed:
                kept.setdefault(id(node), []).append((number, text))
    text = c_writer.written(file.own, file.includes, choices)
    return Switchable(text, [p.edit for p in ordered], file, tuple(ordered))


def _by_place(proposals: Sequence[Proposal]) -> list[Proposal]:
    """The edits sorted by the expression that they change, those of several last."""
    groups: dict[int, list[Proposal]] = {}
    others = []
    for proposal in proposals:
        if len(proposal.values) == 1:
            groups.setdefault(id(proposal.values[0][0]), []).append(proposal)
        else:
            others.append(proposal)
    return [p for group in groups.values() for p in group] + others
