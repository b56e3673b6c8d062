# SPDX-License-Identifier: MIT
"""Holds the rungs of a grading, and which of them must be decided before which.

A rung waits for the rungs that it uses. If the first choice for a use is right, the
other choices do not matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ladders.linked_parts import LOWER
from signatures import DIRECTIONS

from grader.checks.check_result import CheckResult
from grader.course.candidates import candidates
from grader.course.rungs import COMPILED, EXTENSION, Rung, Selection
from grader.course.tasks import all_tasks
from grader.course.uses import Use
from grader.engine import hints, plan
from grader.engine.answers import keys
from grader.engine.answers.ledger import CHECKS, Ledger
from grader.engine.checking.rung_checker import Answer
from grader.engine.schedule import Job
from grader.toolchain.extension import kernels
from grader.toolchain.extension.package import Package
from grader.toolchain.linking import Links

Linked = tuple[Rung, str, bool | None]  # a rung, a direction, whether it is right in it


@dataclass
class Node:
    """A rung in the graph."""

    rung: Rung
    wanted: bool  # it is graded; else only others use it
    content: str = ""  # keys.content, where there is a ledger
    key: str = ""  # of its answer
    facts: tuple[tuple[str, ...], tuple[str, ...]] | None = None  # defines, wants
    begun: set[type[Job]] = field(default_factory=set)  # jobs that were added
    package: Package | None = None  # lab 05
    values: list[CheckResult] | None = None  # lab 05
    gates: dict[str, list[CheckResult]] | None = None  # lab 05
    answer: Answer | None = None
    right: dict[str, bool] | None = None  # by direction, once it is decided


class Graph:
    """The nodes of one grading."""

    def __init__(
        self,
        selection: Selection,
        links: Links,
        ledger: Ledger | None,
        check: str | None,
    ) -> None:
        """`links` knows earlier results, `ledger` what compiling has told."""
        self.links, self.ledger, self.check = links, ledger, check
        self.selection = selection
        self.tasks = {task.id: task for task in (*all_tasks(), *selection.tasks)}
        self.nodes: dict[str, Node] = {}
        for task in selection.tasks:
            for rung in task.rungs:
                if rung.id in selection.rungs:
                    self.nodes[rung.id] = Node(rung, wanted=True)
        self._serving: dict[tuple[str, str], list[Rung]] = {}
        self._others: dict[str, str] = {}  # keys of rungs that are no nodes

    def undecided(self) -> list[Node]:
        """Those that nothing is known of yet."""
        return [node for node in self.nodes.values() if node.right is None]

    def state(self) -> tuple[int, int]:
        """Changes with every rung that is decided, and every one that is added."""
        return len(self.nodes), len(self.undecided())

    def task_nodes(self, task: str) -> list[Node]:
        """The graded rungs of a task."""
        rungs = (rung.id for rung in self.tasks[task].rungs)
        found = (self.nodes.get(name) for name in rungs)
        return [node for node in found if node and node.wanted]

    # ---- what a node waits for -------------------------------------------------------

    def compiled(self, node: Node) -> bool:
        """Whether it is known what a rung defines and calls."""
        rung = node.rung
        if plan.kind(rung) not in COMPILED or rung.needs or node.facts is not None:
            return True
        kept = self.ledger.facts(self.content(node)) if self.ledger else None
        if kept is not None:
            node.facts = tuple(kept["defines"]), tuple(kept["wants"])
        return kept is not None

    def linked_with(self, node: Node) -> list[Linked]:
        """The rungs that decide what this one is linked with; None for one that is not
        decided.
        """
        if plan.kind(node.rung) == EXTENSION:
            return list(self._kernels(node.rung))
        if node.rung.needs or node.facts is None:
            return []
        return list(self._used(node))

    def _used(self, node: Node) -> Iterator[Linked]:
        """Rungs whose functions it calls."""
        assert node.facts
        rung, (_, wants) = node.rung, node.facts
        for use in [use for use in rung.uses if use.alias != LOWER]:
            # for C of another ladder there are given objects
            ask = use.within(rung.task) or rung.file.suffix == ".cu"
            for symbol in [symbol for symbol in use.symbols if symbol in wants]:
                direction = symbol.rpartition("_")[2]
                for other in self._candidates(rung, use):
                    right = self._right(other, direction, ask=ask)
                    yield other, direction, right
                    if right is not False:
                        break

    def _candidates(self, rung: Rung, use: Use) -> list[Rung]:
        """Who may serve a use, the first choice first; looked up once."""
        key = rung.id, use.alias
        if key not in self._serving:
            self._serving[key] = candidates(rung, use, self.tasks)
        return self._serving[key]

    def _kernels(self, rung: Rung) -> Iterator[Linked]:
        """Lab 05: every rung that an operator's kernels may come from."""
        for other in kernels.candidates_of(rung.operator):
            node = self.nodes.get(other.id)
            for direction in DIRECTIONS:
                if node is None:
                    yield other, direction, self.links.passed_before(other, direction)
                elif node.right is None:
                    yield other, direction, None
                else:
                    yield other, direction, node.right.get(direction, False)

    def _right(self, other: Rung, direction: str, *, ask: bool) -> bool | None:
        """Whether another rung is right; None if that is not decided. One that is not
        graded in this run becomes a node where `ask` says so, else it is believed.
        """
        node = self.nodes.get(other.id)
        if node is None and not ask:
            return self.links.passed_before(other, direction)
        if node is None:
            node = self.nodes[other.id] = Node(other, wanted=False)
        if node.right is None:
            return None
        if direction in node.right:
            return node.right[direction]
        return self.check is not None and self.links.passed_before(other, direction)

    # ---- keys ------------------------------------------------------------------------

    def content(self, node: Node) -> str:
        """The key of a rung alone."""
        node.content = node.content or keys.content(node.rung)
        return node.content

    def key(self, node: Node, linked: list[Linked]) -> str:
        """The key of its answer. Of a rung that is wrong nothing is linked: in which
        way it is wrong does not matter.
        """
        others = [
            (
                o.id,
                d,
                right,
                self._key_of(o) if right or self._may_serve(node, o) else "",
            )
            for o, d, right in linked
        ]
        given = [keys.of_given(operator) for operator in _given_for(node.rung)]
        below = plan.is_below(node.rung, self.selection)
        # a hint unlocks the details of an exhibit (exposing.py)
        told = node.rung.exhibit and hints.seen(node.rung) > 0
        return keys.digest(self.content(node), others, given, below, told)

    def _may_serve(self, node: Node, other: Rung) -> bool:
        """Whether a rung may be linked though nobody knows that it is right: lab 05
        takes what nobody has looked at.
        """
        return plan.kind(node.rung) == EXTENSION and other.id not in self.nodes

    def _key_of(self, other: Rung) -> str:
        """Of a rung that is not in this run the key that it had in its last one: what
        is linked with it does not change by that.
        """
        if node := self.nodes.get(other.id):
            return node.key or self.content(node)
        if other.id not in self._others:
            kept = self.ledger and self.ledger.rows(CHECKS, other.id, other.sha256)
            self._others[other.id] = kept[0].key if kept else keys.content(other)
        return self._others[other.id]


def _given_for(rung: Rung) -> list[str]:
    """The operators whose given objects may be linked with a rung, or judge a case."""
    if rung.step or rung.exhibit:
        return [rung.operator]
    if rung.file.suffix != ".c":
        return []
    return sorted({u.target.split("/")[1] for u in rung.uses if u.alias != LOWER})
