# SPDX-License-Identifier: MIT
"""Makes the kernels of lab 05: compiles the chosen rungs, and links their objects.

    maker = Maker(root, lab, folder, print)
    maker.kernels(["conv2d"], of_a_wheel())["conv2d", "cpu"].files

Each rung is compiled by common/rung.mk or common/cuda.mk, once for each variant. The
kernels of an operator are an object for each variant and dtype. Its functions are named
conv2d_forward_cpu_f32_v3: the set of kernels, the dtype and the variant's suffix.
"""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from pathlib import Path

from signatures import DIRECTIONS

from ladders import Refusal, walks
from ladders.chosen import DIRECT, Chosen, Rung, targets
from ladders.joined import joined
from ladders.linked_parts import Names, Part
from ladders.toolkit import Toolkit

ARCHITECTURES = ("sm_75", "sm_80", "sm_90")  # of cards, where lab.toml names none
# A wheel serves every processor from x86-64-v3 on: machine -> suffix -> flags. gcc
# limits loops of v4 to 256 bits when it compiles for the processors that need it.
LEVELS = {
    "x86_64": {
        "_v3": "-march=x86-64-v3",
        "_v4": "-march=x86-64-v4 -mprefer-vector-width=512",
    }
}
MADE = "CONVLAB_KERNELS"  # in the environment: the grader has made them, in this folder
_ODD = re.compile(r"[^\w/.@+=~-]")  # in a path, for make


@dataclass(frozen=True)
class Variant:
    """One way to compile rungs, for a device."""

    device: str  # cpu or cuda
    name: str  # of its folder, and for people
    suffix: str = ""  # of the functions' names
    order: tuple[str, ...] = ()  # what make is told

    def makes(self, rung: Rung) -> list[str]:
        """What make is told of a rung."""
        words = [*self.order, f"DTYPES={' '.join(rung.dtypes)}"]
        words += [
            f"FOLDER={self.name}",
            f"EXTRA={' '.join(rung.words.get('flags', ()))}",
        ]
        if self.device == "cuda":
            named = rung.words.get("architectures", ARCHITECTURES)
            words.append(f"ARCH={' '.join(named)}")
        return words


@dataclass
class Kernels:
    """An operator's kernels on one device."""

    files: list[Path] = field(default_factory=list)
    served: dict[str, str] = field(default_factory=dict)  # direction -> rung
    reason: str = ""  # why a direction has none


def read(folder: Path, operator: str, device: str) -> Kernels:
    """An operator's kernels that the grader has made (MADE)."""
    note = json.loads((folder / f"{operator}.{device}.json").read_text())
    files = [Path(note["file"])] if note["file"] else []
    return Kernels(files, note["served"], note["reason"])


def native() -> list[Variant]:
    """For the processor of this machine, or for the level that ISA= names."""
    return [Variant("cpu", os.environ.get("ISA") or "native", order=_in_c())]


def of_a_wheel() -> list[Variant]:
    """For the processors that a wheel serves."""
    levels = LEVELS.get(platform.machine(), {"": ""})
    return [
        Variant("cpu", f"wheel{suffix}", suffix, _in_c("ISA=", f"MARCH={march}"))
        for suffix, march in levels.items()
    ]


def for_cards(kit: Toolkit) -> Variant:
    """For NVIDIA's cards."""
    words = ["-f", "common/cuda.mk", "MODE=gpu", f"NVCC={kit.nvcc}"]
    return Variant("cuda", "cards", order=(*words, f"CUDART={kit.linked}"))


def _in_c(*words: str) -> tuple[str, ...]:
    return "-f", "common/rung.mk", "MODE=package", *words


def fit_for_make(path: Path, name: str, advice: str) -> None:
    """Raises Refusal for a path that means something else to make or to a shell."""
    if found := _ODD.search(str(path)):
        odd = "a space" if found[0] == " " else ascii(found[0])
        raise Refusal(
            f"the path of {name} contains {odd}, but make cannot handle this: "
            f"{' '.join(str(path).split())}; {advice}"
        )


class Maker:
    """Compiles and links in a folder."""

    def __init__(
        self, root: Path, lab: Path, folder: Path, say: Callable[[str], None]
    ) -> None:
        """`root` has common/ and labs/, `lab` is lab 05. `say` is told each rung that
        is compiled.
        """
        self._root, self._lab, self._folder, self._say = root, lab, folder, say
        self._walks: dict[tuple[str, str], str] = {}
        self._compiled: set[tuple[str, Variant]] = set()
        self._broken: dict[str, str] = {}  # rung -> the compiler's first error

    def kernels(
        self, operators: Sequence[str], variants: Sequence[Variant]
    ) -> dict[tuple[str, str], Kernels]:
        """The kernels of operators, by operator and device. A lower rung serves in the
        place of one that does not compile.
        """
        while True:
            found: dict[tuple[str, str], Kernels] = {}
            wanted, links = [], []
            for variant in variants:
                chosen = Chosen(
                    self._root, self._place(variant), self._walk, self._broken
                )
                for operator in operators:
                    one = found.setdefault((operator, variant.device), Kernels())
                    functions = self._functions(operator, variant, chosen, one)
                    links.append((operator, variant, functions, one))
                wanted += [(rung, variant) for rung in chosen.rungs.values()]
            if self._compile(wanted):
                continue  # others are to serve
            for operator, variant, functions, one in links:
                one.files += self._linked(operator, variant, functions)
            return found

    def _functions(
        self, operator: str, variant: Variant, chosen: Chosen, found: Kernels
    ) -> dict[str, tuple[Rung, Part, str]]:
        """What is exported, without dtype and suffix: conv2d_forward_cpu -> the rung,
        its object and the direction. Notes in `found` who serves.
        """
        named = targets(self._lab).get(operator, {})
        if variant.device not in named:
            found.reason = f"lab.toml names no kernels.{variant.device}"
        functions = {}
        for one in [variant.device, *([DIRECT] if variant.device == "cpu" else [])]:
            for direction in DIRECTIONS if one in named else ():
                try:
                    rung, part = chosen.function(named[one], direction)
                except Refusal as error:
                    found.reason = str(error)
                    continue
                functions[f"{operator}_{direction}_{one}"] = rung, part, direction
                if one != DIRECT:
                    found.served[direction] = rung.id
        return functions

    # ---- compiling -------------------------------------------------------------------

    def _compile(self, wanted: Iterable[tuple[Rung, Variant]]) -> bool:
        """Compile rungs, several at once. Whether one of them does not compile."""
        new = [(r, v) for r, v in wanted if (r.id, v) not in self._compiled]
        before = len(self._broken)
        with ThreadPoolExecutor(_jobs()) as pool:
            started = {pool.submit(self._one, r, v): (r, v) for r, v in new}
            for number, done in enumerate(as_completed(started), 1):
                rung, variant = started[done]
                self._compiled.add((rung.id, variant))
                shown, error = rung.file.relative_to(self._root), done.result()
                if error:
                    self._broken[rung.id] = error
                word = "not compiled" if error else "compiled"
                where = f" ({variant.name})" if variant.suffix else ""
                count = f"[{number}/{len(new)}]"
                self._say(f"{count} {word} {shown}{where}{error and f': {error}'}")
        return len(self._broken) > before

    def _one(self, rung: Rung, variant: Variant) -> str:
        """Compile a rung for all its dtypes. "", or the first error."""
        command = ["make", "-s", f"RUNG={rung.file.relative_to(self._root)}"]
        command += [f"BUILD={self._folder}", *variant.makes(rung), "compiled"]
        environment = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
        environment["LC_ALL"] = "C"
        done = subprocess.run(
            command,
            cwd=self._root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        return _first_error(done.stdout) if done.returncode else ""

    # ---- linking ---------------------------------------------------------------------

    def _place(self, variant: Variant) -> Callable[[Rung], str]:
        folder = self._folder / "rungs" / variant.name
        return lambda rung: str(folder / f"{rung.id}.%.o")

    def _walk(self, operator: str, direction: str) -> str:
        """The object of a walk. Raises Refusal if it does not compile."""
        file = self._folder / "walks" / f"{operator}_{direction}.o"
        if (operator, direction) not in self._walks:
            file.parent.mkdir(parents=True, exist_ok=True)
            cc, common = os.environ.get("CC") or "cc", self._root / "common"
            if said := walks.compiled(operator, direction, cc, common, file):
                raise Refusal(f"cannot link {operator}: {_first_error(said)}")
            self._walks[operator, direction] = str(file)
        return str(file)

    def _linked(
        self,
        operator: str,
        variant: Variant,
        functions: Mapping[str, tuple[Rung, Part, str]],
    ) -> list[Path]:
        """An object for each dtype that has functions."""
        files = []
        dtypes = {d: None for rung, _, _ in functions.values() for d in rung.dtypes}
        for dtype in dtypes:
            exported = {
                f"{name}_{dtype}{variant.suffix}": (part, direction)
                for name, (rung, part, direction) in functions.items()
                if dtype in rung.dtypes
            }
            names = Names(exported)
            parts = [
                replace(one, file=one.file.replace("%", dtype)) for one in names.linked
            ]
            file = self._folder / "kernels" / f"{operator}.{variant.name}.{dtype}.o"
            file.parent.mkdir(parents=True, exist_ok=True)
            joined(parts, file, _tool, names.others)
            files.append(file)
        return files


def sources(root: Path, lab: Path) -> list[tuple[Path, str]]:
    """All files that a build without the repository needs, beside those of the Python
    package, and their places in an sdist: of lab 05 and common/, the chosen rungs, and
    the lab.toml of their labs.
    """
    chosen = Chosen(root, lambda rung: rung.id, lambda *names: "/".join(names))
    for named in targets(lab).values():
        for target in named.values():
            for direction in DIRECTIONS:
                chosen.function(target, direction)
    files = [rung.file for rung in chosen.rungs.values()]
    files += {h for file in files for h in file.parent.glob("*.h")}
    files += {file.parents[1] / "lab.toml" for file in files}
    files += [f for f in (root / "common").glob("*.*") if f.suffix != ".py"]
    for package in ("ladders", "signatures"):
        files += (root / "common" / "python" / package).glob("*.py")
    own = [lab / "lab.toml", *(lab / "csrc").rglob("*.*")]
    found = [(file, str(file.relative_to(root))) for file in sorted(files)]
    found += [(file, str(file.relative_to(lab))) for file in sorted(own)]
    return [*found, (root / "LICENSE", "LICENSE")]


def _tool(*command: str) -> None:
    """Run ld or objcopy. Raises Refusal if it fails."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise Refusal(f"cannot link the kernels: {_first_error(done.stderr)}")


def _first_error(text: str) -> str:
    """The line of a tool's output that says most."""
    lines = text.splitlines()
    errors = [line for line in lines if "rror:" in line or "***" in line]
    return (errors or lines or ["it ended without a message"])[0].strip()


def _jobs() -> int:
    """How many rungs are compiled at once: MAX_JOBS, or as many as there are cores."""
    named = os.environ.get("MAX_JOBS", "")
    return int(named) if named.isdigit() and int(named) else os.cpu_count() or 1
