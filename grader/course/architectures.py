# SPDX-License-Identifier: MIT
"""Reads in lab.toml which cards a rung of lab 04 is for.

    [rung."matmul/07_double_buffer"]
    architectures = ["sm_80", "sm_90"]     # for nvcc; the default is ARCHITECTURES

    [rung."matmul/11_wgmma"]
    architectures = ["sm_90a"]
    needs = "gpu"                          # cusim cannot run it

    [ladder.unfold]
    dtypes = ["f16"]                       # its rungs are right in half, too

    [rung."matmul/06_warp_tile"]
    dtypes = ["f16"]                       # this one is, others of its ladder are not

If a rung needs a GPU and there is no card, nvcc compiles it and nothing runs it. Then
it gives no points and takes none away, and no other rung uses it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from grader.errors import GraderError

ARCHITECTURES = ("sm_75", "sm_80", "sm_90")
GPU = "gpu"
HALF = "f16"
_NAME = re.compile(r"sm_\d{2,3}a?")


def parse(where: str, suffix: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    """The fields `architectures` and `needs` of a rung whose file ends in `suffix`.

    Raises GraderError, which begins with `where`.
    """
    for word in ("architectures", "needs"):
        if word in entry and suffix != ".cu":
            raise GraderError(
                f"{where}: {word!r} is {entry[word]!r}, but only files in CUDA may "
                f"have the key {word!r}; remove it"
            )
    needs = entry.get("needs", "")
    if "needs" in entry and needs != GPU:
        raise GraderError(
            f"{where}: 'needs' is {needs!r}, expected {GPU!r}, or no line with 'needs'"
        )
    return {"architectures": _architectures(where, entry), "needs": needs}


def dtypes(where: str, suffix: str, entry: Mapping[str, Any]) -> tuple[str, ...]:
    """What files are built for besides float and double: the check `half`.

    Raises GraderError, which begins with `where`.
    """
    named = entry.get("dtypes", [])
    if named not in ([], [HALF]):
        raise GraderError(f"{where}: 'dtypes' is {named!r}, expected [{HALF!r}]")
    if named and suffix != ".cu":
        raise GraderError(
            f"{where}: 'dtypes' is {named!r}, but only files in CUDA may have the key "
            "'dtypes'; remove it"
        )
    return tuple(named)


def _architectures(where: str, entry: Mapping[str, Any]) -> tuple[str, ...]:
    named = entry.get("architectures", ARCHITECTURES)
    right = isinstance(named, list | tuple) and named
    if not right or not all(isinstance(n, str) and _NAME.fullmatch(n) for n in named):
        raise GraderError(
            f"{where}: 'architectures' is {named!r}, expected a list of names like "
            '["sm_80", "sm_90a"]'
        )
    return tuple(dict.fromkeys(named))
