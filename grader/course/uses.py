# SPDX-License-Identifier: MIT
"""What a rung uses of other rungs, as lab.toml says it.

    [rung."conv2d/00_unfold_gemm"]
    uses.gemm = "matmul/05_packed"            # a rung of the same lab
    uses.lower = "02_naive_c/unfold"          # a task: its best rung that passes
    uses.fallback = true                      # the nearest lower rung that passes
    uses.tiles = "conv2d/10_winograd_4x4"     # a lower rung of the same ladder by name

The caller declares `matmul_forward_fn gemm_forward;` and calls it. This module reads
the words; candidates.py says which rungs they mean, linking.py finds the objects.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from signatures import DIRECTIONS

from grader.errors import GraderError

if TYPE_CHECKING:
    pass

FALLBACK = "fallback"
NOBODY = "nobody"  # serves a use within a ladder where no lower rung is right
LEFT = "left to a lower file"  # what common/no_fallback.c then says of a case
UNPAID = "a given object earns no points"  # where one serves what a right file leaves
_UNCOUNTED = ("leaves ", "computes small cases ")  # so begins what lending.py says
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
        return tuple(f"{self.alias}_{direction}" for direction in DIRECTIONS)

    def within(self, task: str) -> bool:
        """Whether it is served by a lower rung of the caller's own ladder: by the one
        that it names, or the nearest right one below that.
        """
        return self.alias == FALLBACK or self.target.startswith(f"{task}/")

    def refuse(self, reason: str) -> GraderError:
        """The error for this use."""
        return GraderError(f"{self.where}: uses.{self.alias}: {reason}")


def parse(where: str, lab: str, rung: str, entry: object) -> tuple[Use, ...]:
    """The `uses` of a rung of this lab; `rung` is conv2d/00_unfold_gemm.

    Raises GraderError for what can be told without looking at other entries.
    """
    if not isinstance(entry, Mapping):
        raise GraderError(
            f"{where}: uses is {entry!r}, expected lines like "
            'uses.gemm = "matmul/05_packed"'
        )
    return tuple(_use(where, lab, rung, alias, entry[alias]) for alias in entry)


def _use(where: str, lab: str, rung: str, alias: str, value: Any) -> Use:
    operator = rung.split("/")[0]
    target = value if isinstance(value, str) else ""
    if target and not _LAB.match(target):
        target = f"{lab}/{target}"
    use = Use(alias, target.rstrip("/"), where)
    if not _ALIAS.fullmatch(alias):
        raise use.refuse("an alias is made of small letters, digits and _")
    if alias in (operator, *DIRECTIONS):
        raise use.refuse(f"the name {alias!r} is taken, choose another alias")
    if alias == FALLBACK:
        if value is not True and not target:
            raise use.refuse(
                f"is {value!r}, expected true or the name of a lower rung of "
                f"the ladder '{operator}'"
            )
    elif not target:
        raise use.refuse(
            f'is {value!r}, expected the name of a rung, like "matmul/05_packed"'
        )
    same = target.split("/")[:2] == [lab, operator]
    if target and alias == FALLBACK and not same:
        raise use.refuse(
            f"{value!r} is not of the ladder '{operator}'; a fallback is a lower rung "
            "of the same ladder"
        )
    if target and target.count("/") not in (1, 2):
        raise use.refuse(f"{value!r} is neither a rung nor a task")
    if same and target.count("/") == 1:
        raise use.refuse(
            f"{value!r} is the ladder itself; name one of its lower rungs, or say "
            "uses.fallback = true"
        )
    return use


def is_uncounted(message: str) -> bool:
    """Whether a check that found a file not written says of a right one what it leaves
    to other files: its numbers are right, and they earn nothing.
    """
    return message.startswith(_UNCOUNTED)
