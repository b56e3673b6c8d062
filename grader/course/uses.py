# SPDX-License-Identifier: MIT
"""Reads in lab.toml which other rungs a rung uses, and which cases it covers.

    [rung."conv2d/00_unfold_gemm"]
    uses.gemm = "matmul/05_packed"            # a rung of the same lab
    uses.lower = "02_naive_c/unfold"          # a task: its best rung that passes
    uses.tiles = "conv2d/10_winograd_4x4"     # a lower rung of the same ladder by name

    covers = ["pointwise"]                    # it covers these cases, and leaves others
    covers.grad_input = ["pointwise"]         # or so, where its results differ

The caller declares `matmul_forward_fn gemm_forward;` and calls it. `covers` names tags
of the operator (Operator.tags). If a rung does not cover a case, a walk calls the
nearest lower rung that is right. `below` can name the rung where this search begins
(below = "conv2d/02_implicit_gemm"). This module reads the words. candidates.py finds
the rungs that they mean, and linking.py finds the objects.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ladders.linked_parts import LOWER, OWN
from signatures import DIRECTIONS

from grader.errors import GraderError

if TYPE_CHECKING:
    pass

_ALIAS = re.compile(r"[a-z][a-z0-9_]*")
_LAB = re.compile(r"\d\d_\w+")


@dataclass(frozen=True)
class Use:
    """One alias of a rung."""

    alias: str  # gemm: the symbols are gemm_forward and gemm_backward
    target: str  # id of a rung or of a task; "" for the nearest lower rung
    where: str  # for messages: labs/.../lab.toml: rung 'conv2d/00_unfold_gemm'

    @property
    def symbols(self) -> tuple[str, ...]:
        """What the caller may declare and call."""
        return self.symbols_of(DIRECTIONS)

    def symbols_of(self, directions: Collection[str]) -> tuple[str, ...]:
        """Those of some directions."""
        return tuple(f"{self.alias}_{direction}" for direction in directions)

    def within(self, task: str) -> bool:
        """Whether it is served by a lower rung of the caller's own ladder: by the one
        that it names, or the nearest right one below that.
        """
        return self.alias == LOWER or self.target.startswith(f"{task}/")

    def refuse(self, reason: str) -> GraderError:
        """The error for this use."""
        word = "below" if self.alias == LOWER else f"uses.{self.alias}"
        return GraderError(f"{self.where}: {word}: {reason}")


def parse(where: str, lab: str, rung: str, entry: Mapping[str, Any]) -> tuple[Use, ...]:
    """What a rung of this lab uses, and what a walk asks below it; `rung` is
    conv2d/00_unfold_gemm, `entry` its words in lab.toml.

    Raises GraderError for what can be told without looking at other entries.
    """
    used = entry.get("uses", {})
    if not isinstance(used, Mapping):
        raise GraderError(
            f"{where}: 'uses' is {used!r}, expected lines like "
            'uses.gemm = "matmul/05_packed"'
        )
    some = "covers" in entry or "below" in entry
    lower = [_below(where, lab, rung, entry)] if some else []
    return (*lower, *(_use(where, lab, rung, alias, used[alias]) for alias in used))


def covers(where: str, entry: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Result -> tags of the cases that a rung has to cover; "" stands for each result.
    {} where it has to cover everything.
    """
    value = entry.get("covers", {})
    named = value if isinstance(value, Mapping) else {"": value}
    for words in named.values():
        good = isinstance(words, list) and all(isinstance(w, str) for w in words)
        if not (good and words):
            raise GraderError(
                f"{where}: 'covers' is {value!r}, expected tags of the operator. Write "
                'covers = ["pointwise"] for all results, or '
                'covers.output = ["pointwise"] for one result'
            )
    return {result: tuple(words) for result, words in named.items()}


def _below(where: str, lab: str, rung: str, entry: Mapping[str, Any]) -> Use:
    """The lower rungs that a walk asks for what a rung leaves."""
    operator = rung.split("/")[0]
    name = entry.get("below", "")
    use = Use(LOWER, f"{lab}/{name}" if name else "", where)
    if "below" in entry and not str(name).startswith(f"{operator}/"):
        raise use.refuse(
            f"is {name!r}, expected the name of a lower rung of the ladder '{operator}'"
        )
    if "covers" not in entry:
        raise use.refuse(
            "needs covers: without covers this rung leaves no case to other rungs"
        )
    return use


def _use(where: str, lab: str, rung: str, alias: str, value: Any) -> Use:
    operator = rung.split("/")[0]
    target = value if isinstance(value, str) else ""
    if target and not _LAB.match(target):
        target = f"{lab}/{target}"
    use = Use(alias, target.rstrip("/"), where)
    if not _ALIAS.fullmatch(alias):
        raise use.refuse("an alias is made of small letters, digits and _")
    if alias in (operator, LOWER, OWN, *DIRECTIONS):
        raise use.refuse(f"the name {alias!r} is taken, choose another alias")
    if not target:
        raise use.refuse(
            f'is {value!r}, expected the name of a rung, like "matmul/05_packed"'
        )
    if target.count("/") not in (1, 2):
        raise use.refuse(f"{value!r} is neither a rung nor a task")
    if target.split("/") == [lab, operator]:
        raise use.refuse(f"{value!r} is the ladder itself; name one of its lower rungs")
    return use
