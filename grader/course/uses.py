# SPDX-License-Identifier: MIT
"""What a rung uses of other rungs, as lab.toml says it.

    [rung."conv2d/00_unfold_gemm"]
    uses.gemm = "matmul/05_packed"            # a rung of the same lab
    uses.lower = "02_naive_c/unfold"          # a task: its best rung that passes
    uses.tiles = "conv2d/10_winograd_4x4"     # a lower rung of the same ladder by name

    below = true                              # it covers some cases only

The caller declares `matmul_forward_fn gemm_forward;` and calls it. What a rung does not
cover is asked of the one `below`: of the nearest lower one that is right, or from the
one on that it names (below = "conv2d/02_implicit_gemm"). This module reads the words;
candidates.py says which rungs they mean, linking.py finds the objects.
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

LOWER, OWN = "lower", "own"  # what a walk calls: the rungs below, and the rung itself
NOBODY = "nobody"  # serves a use within a ladder where no lower rung is right
LEFT = "left to a lower file"  # what common/no_lower_rung.c then says of a case
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
        return self.alias == LOWER or self.target.startswith(f"{task}/")

    def refuse(self, reason: str) -> GraderError:
        """The error for this use."""
        word = "below" if self.alias == LOWER else f"uses.{self.alias}"
        return GraderError(f"{self.where}: {word}: {reason}")


def parse(where: str, lab: str, rung: str, entry: Mapping[str, Any]) -> tuple[Use, ...]:
    """What a rung of this lab uses, and what is below it; `rung` is
    conv2d/00_unfold_gemm, `entry` its words in lab.toml.

    Raises GraderError for what can be told without looking at other entries.
    """
    used = entry.get("uses", {})
    if not isinstance(used, Mapping):
        raise GraderError(
            f"{where}: uses is {used!r}, expected lines like "
            'uses.gemm = "matmul/05_packed"'
        )
    lower = [_below(where, lab, rung, entry["below"])] if "below" in entry else []
    return (*lower, *(_use(where, lab, rung, alias, used[alias]) for alias in used))


def _below(where: str, lab: str, rung: str, value: object) -> Use:
    """The lower rungs that compute what a rung does not cover."""
    operator = rung.split("/")[0]
    name = value if isinstance(value, str) else ""
    use = Use(LOWER, f"{lab}/{name}" if name else "", where)
    if value is not True and not name.startswith(f"{operator}/"):
        raise use.refuse(
            f"is {value!r}, expected true or the name of a lower rung of the ladder "
            f"'{operator}'"
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
        raise use.refuse(
            f"{value!r} is the ladder itself; name one of its lower rungs, or say "
            "below = true"
        )
    return use


def is_uncounted(message: str) -> bool:
    """Whether a check that found a file not written says of a right one what it leaves
    to other files: its numbers are right, and they earn nothing.
    """
    return message.startswith(_UNCOUNTED)
