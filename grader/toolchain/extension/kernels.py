# SPDX-License-Identifier: MIT
"""Makes the kernels of lab 05 from rungs of labs 03 and 04: one object for each device.

Lab 05 copies no kernel. Its lab.toml names the rungs for an operator's kernels:

    [ladder.conv2d]
    kernels.cpu = "03_im2col_cpu/conv2d"                       # its best rung
    kernels.cuda = "04_cuda_kernels/conv2d/04_backward_weight"   # or a rung by name
    kernels.direct = "03_im2col_cpu/conv2d/04_pixel_gemm"   # of the processor, too

`kernels` makes one object of them, which contains all objects that they use. Device and
dtype become part of the functions' names: conv2d_forward_cpu_f32, as in csrc/kernels.h.
The object for the processor also holds the rungs of `direct`, which compute without
Winograd: conv2d_forward_direct_f32.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

from ladders.chosen import DIRECT, targets
from ladders.joined import joined
from ladders.linked_parts import Linked
from signatures import DIRECTIONS
from signatures.of_exhibits import EXHIBITS

from grader import once
from grader.course.rungs import ROOT, Rung
from grader.course.tasks import all_tasks
from grader.errors import GraderError
from grader.toolchain import given
from grader.toolchain.linking import WITH_GIVEN, Links, walk_folder
from grader.toolchain.make import binutils, build_folder
from grader.toolchain.products import GPU, objects

LAB = ROOT / "labs" / "05_torch_extension"
DEVICES = {"cpu": "release", "cuda": GPU}  # device -> mode of the build


@dataclass(frozen=True)
class Kernels:
    """An operator's kernels on one device."""

    file: Path | None  # the object; None if there is none
    served: dict[str, str] = field(default_factory=dict)  # direction -> rung
    reason: str = ""  # why a direction has none


def operators() -> list[str]:
    """The operators of lab 05, in the order of its lab.toml."""
    return list(targets(LAB))


def target_of(operator: str, device: str) -> str:
    """The task or rung that lab.toml names for an operator's kernels; "" if none."""
    return targets(LAB).get(operator, {}).get(device, "")


def links(run: Links) -> Links:
    """What chooses among rungs; `run` knows what was found."""
    return Links(earlier=run.earlier, judge=_Believed(run))


def kernels(operator: str, device: str, chosen: Links) -> Kernels:
    """The object of an operator's kernels on "cpu" or "cuda", for setup.py, which is
    told its folder; `chosen` chooses among its rungs: `links`. An exhibit calls none.

    Raises GraderError if lab.toml names no such rung, ProductError if a tool fails.
    """
    if operator in EXHIBITS:
        return Kernels(None)
    found = _made(operator, device, chosen)
    note = {**asdict(found), "file": found.file and str(found.file)}
    with once.placed(folder_of_kernels() / f"{operator}.{device}.json") as new:
        new.write_text(json.dumps(note))
    return found


def folder_of_kernels() -> Path:
    """Where the objects are, and what is known of each."""
    return build_folder() / "extension" / "kernels"


def _made(operator: str, device: str, chosen: Links) -> Kernels:
    """Make it: the rungs of both directions, together."""
    target = target_of(operator, device)
    if not target:
        return Kernels(None, reason=f"lab.toml names no kernels.{device}")
    parts, served, reason = _parts(operator, target, device, DEVICES[device], chosen)
    if not parts:
        return Kernels(None, reason=reason)
    second = target_of(operator, DIRECT) if device == "cpu" else ""
    if second:
        more, _, why = _parts(operator, second, DIRECT, DEVICES[device], chosen)
        parts, reason = parts + more, reason or why
    file = folder_of_kernels() / f"{operator}.{device}.o"
    _together(parts, file)
    return Kernels(file, served, reason)


def _parts(
    operator: str, target: str, name: str, mode: str, chosen: Links
) -> tuple[list[tuple[Path, dict[str, str]]], dict[str, str], str]:
    """The objects of a target's rungs with their new symbols (conv2d_forward_cpu_f32 if
    `name` is cpu); which rung serves each direction; why one of them has none, or "".
    """
    parts: dict[Path, dict[str, str]] = {}
    served: dict[str, str] = {}
    reason = ""
    for direction in DIRECTIONS:
        found = _rung(chosen, target, direction, mode)
        if isinstance(found, str):
            reason = found
            continue
        rung, files = found
        served[direction] = rung
        symbol = f"{operator}_{direction}"
        for dtype, file in files.items():  # one of both directions is linked in once
            parts.setdefault(file, {})[symbol] = f"{symbol}_{name}_{dtype}"
    return list(parts.items()), served, reason


# ---- which rung ----------------------------------------------------------------------


def _rung(
    links: Links, target: str, direction: str, mode: str
) -> tuple[str, dict[str, Path]] | str:
    """Who serves a direction, and its objects by dtype; or why nobody does.

    The highest rung that passed, then the highest that builds, then the given object.
    """
    reason = f"no rung of {target} defines {direction}"
    rungs = _candidates(target)
    passed = [rung for rung in rungs if links.passed_before(rung, direction)]
    for rung in [*passed, *(r for r in rungs if r not in passed)]:
        if not links.passed(rung, direction):
            continue
        built = links.build(rung, mode=mode, walk=WITH_GIVEN)
        if built.error or built.blocked or built.forbidden:
            reason = f"{rung.id}: {built.error or built.blocked or built.forbidden}"
        elif direction in built.directions:
            inside = walk_folder(mode, WITH_GIVEN) if built.uses else ""
            files = objects(rung, mode, inside)
            return rung.id, {d: f for d, f in files.items() if f.exists()}
    operator = target.split("/")[1]
    spare = given.find(operator, direction) if mode == "release" else None
    if spare is None:
        return reason
    name, pattern = spare
    return name, {d: Path(pattern.replace("%", d)) for d in ("f32", "f64")}


def candidates_of(operator: str, device: str = "cpu") -> list[Rung]:
    """The rungs that an operator's kernels on a device may come from."""
    target = target_of(operator, device)
    return _candidates(target) if target else []


def _candidates(target: str) -> list[Rung]:
    """The rungs a target means, the highest first: of a named one, those below too."""
    lab, operator = target.split("/")[:2]
    task = next((t for t in all_tasks() if t.id == f"{lab}/{operator}"), None)
    whole = target.count("/") == 1
    if task is None:
        raise GraderError(f"{LAB.name}/lab.toml: no task or rung is called {target!r}")
    rungs = [r for r in task.rungs if whole or r.id <= target]
    return [rung for rung in reversed(rungs) if not rung.needs]


@dataclass(frozen=True)
class _Believed:
    """A judge who takes a rung to be right that is not known as wrong."""

    run: Links

    def is_right(self, _: Links, rung: Rung, direction: str) -> bool:
        right = self.run.found_now(rung, direction)
        if right is not None:
            return right
        verdict = self.run.earlier(rung, direction)
        if verdict is None:
            return not given.is_handout()  # a starter there, until it is graded
        return verdict in ("PASS", "pending", "")


# ---- one object ----------------------------------------------------------------------


_tool = partial(binutils, making="lab 05's kernels")


def _together(parts: Sequence[tuple[Path, dict[str, str]]], file: Path) -> None:
    """Link objects into one that exports only the renamed symbols, if one of them is
    another than last time.
    """
    of = repr([(str(source), _stamp(source), names) for source, names in parts])
    once.made(file, of=of, make=lambda new: _linked(parts, new))


def _linked(parts: Sequence[tuple[Path, dict[str, str]]], file: Path) -> None:
    """Do it; what is needed on the way lies beside the file."""
    own = [Linked(str(source), tuple(names.items()), ()) for source, names in parts]
    joined(own, file, _tool, {})


def _stamp(file: Path) -> tuple[int, int]:
    """A file's date and size."""
    found = file.stat()
    return found.st_mtime_ns, found.st_size
