# SPDX-License-Identifier: MIT
"""Searches a tree for every line of every solution, so that none is given away.

Lines are compared without blanks, so that another indentation hides nothing. Some lines
say little: a brace, `return STATUS_OK;`, a loop, a list of parameters. telling(line)
leaves them out. A line that an earlier lab already gives does not count either.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from grader.course.exhibits import CASE
from grader.solution_marks import REGION

TELLING = 24  # characters, blanks not counted

# lines that are told on purpose, by fingerprint: written out they would be found here
PUBLIC = {
    "2f47d5183d2a": "lab 01, matmul's last hint",
    "cef72c03d102": "lab 01, linear's last hint",
    "18195b65cfdf": "the last two arguments of a call, the options of an axis",
    "9589792b1bd4": "the same for the other axis",
    "ad7ae14fcbf0": "how every function of ours hands an error on",
    "086baf4444ad": "lab 01, conv2d's last hint",
    "d327e3dbb988": "lab 01, shown in unfold's starter",
    "6b4193afc23f": "lab 01, shown in unfold's starter",
    "390362122ced": "lab 01, the README's example of a Function",
    "c180f83b7601": "the same, how it gets back what it has saved",
    "eed7a6f62311": "the same, whether a gradient is wanted: an exhibit has it",
    "09772b74da04": "the same, the next gradient",
    "6014c72ec9fb": "the same, what is saved",
    "05f3a0b36900": "the same, how it is read back",
    "a06a315d0a8c": "the same, for all arguments: the grader's own Function has it",
    "3822534eb7c2": "labs 02 and 03, a contiguous copy: two exhibits begin so",
    "995cd86c785e": "lab 04, the last two axes of a batch: shown in launch.h",
    "1b91458e2789": "lab 05, the example in the head comment of bridge.h",
    "59562286142f": "lab 04, how a kernel with a block of THREADS begins",
    "d2cbfa293d52": "lab 04, how a thread finds its element: shown in launch.h",
    "56e91c9130bf": "lltm, the reference in the grader has it",
    "28dd57fd0947": "lab 01, layer_norm's last hint",
    "c80683b6bea0": "lab 03, threads: how all of them share scratch memory",
    "44a8fbd99c26": "the same, a context for each thread",
    "d35c33becced": "lab 03, the head of a helper of lltm",
    "7f2c187eeda7": "lab 04, how many numbers a load of 128 bits brings",
    "8a348add92c1": "lab 04, layer_norm's sum over a warp: 02's starter has it",
    "6707b4e82ec8": "the same, its only line",
    "5bc918a87dc1": "lab 05, a call of a helper that every file of rules has",
    "b14044df6447": "lab 05, how every operator begins",
    "ee982db3648b": "lab 04, what every launcher of matmul does: it is given there",
    "b487f7259e7a": "the same, nothing to launch",
    "3483a0ad0212": "the same, in one line",
    "618ac6c82caf": "the same, a part of that line",
    "99160798208c": "the same, the number of blocks",
    "f259294c403b": "the same, whether the launch could be made",
    "a3d5672f09be": "lab 04, the matrices of a tile: matmul gives them",
    "6d9eb2f01e6c": "the same, where an output lies",
    "ab15b8323bbc": "the same, where a thread stands in its tile",
    "666cd0bf3809": "lab 04, linear/01 has matmul's kernel: its frame is given",
    "b67ca9532588": "the same, whether numbers lie down a column",
    "53b164870f86": "the same, the numbers of a pack",
    "d0affdc264e3": "the same, sums become a pack",
    "4ab868e4aa1f": "the same, lane and warp",
    "0692c9b9a66e": "the same, in other words",
    "631bc8ba560e": "the same, which column a lane owns",
    "a15387245820": "lab 04, the end of a launch: the stream, and the first argument",
    "ea266691402f": "lab 03, the sizes of vector.h's register block",
    "9f8fb14bc010": "the same, of the block of channels",
    "8e876a368990": "lab 03, whether a tensor is one row",
    "3460f3823e8e": "lab 03, depthwise: what a plane is made of",
    "a81064ce12b2": "the same, the options",
    "80fa2b0f7f04": "the same, how sums begin",
    "b0b53034a9b8": "the same, what a call works on",
    "8ef68244cb72": "the same, what it makes",
    "3edd914b855f": "lab 02, how a view is made",
    "9eaf7a5283d5": "lab 02, how a function with calls that can fail begins",
    "c0d2fb37ec91": "lab 02, set_zero: many starters have it",
    "b75179770e54": "the same, a call",
    "1e0de7123d92": "the same, another call",
    "fff668efa623": "the same, and the weight before them",
    "4883ae106e66": "lab 03, which layers Winograd takes",
    "c3b075834b9d": "the same, in tiles.h",
    "767bd4727412": "lab 03, contiguous weight",
    "886c74565559": "lab 03, room for a table of offsets",
    "b844cbbac2b0": "lab 03, nothing to do",
    "dd9ad6473ecc": "the same, no gradient is wanted",
    "b974b5f9c814": "lab 03, conv2d: the loop over panels of filters",
    "95b90d141a31": "the same, over the panels of one pass",
    "1a17c8d99535": "lab 03, the sizes and strides of weight",
    "8da79680b872": "lab 03, whether a gradient is wanted, and none has failed",
    "536224d54256": "the same, for one statement",
    "ecae3486ffba": "lab 03, contiguous input",
    "6e0401119ac3": "labs 03 and 04, how a rung leaves a call: the contract",
    "52e28f5bc3ec": "the same, gradients",
    "d11fd5881af4": "the same, where the one that it covers is not wanted",
    "0d311dd7eabb": "the same, or does not fit",
    "a3915904e84f": "lab 03, grad_input is empty",
    "2a73ab73736e": "lab 03, lltm: room for the sums of all gates",
    "c42380b1102e": "the same, whether there is some",
    "3fd79f393cbb": "the same, what joined is called for",
    "a60fe501aced": "the same, its sizes",
    "dd8f4604a1a0": "lab 03, contiguous input, in other words",
    "b5b8f02c1168": "lab 03, layer_norm: weight, if there is one",
    "66d513a68c6e": "the same, bias",
    "c5639b7eef83": "the same, whether there was memory",
    "d7932f6b9ffe": "the same, its sizes",
    "097d2ea26502": "the same, the bytes of a row",
    "e60d6006f25f": "lab 03, subm_conv3d: the head of a loop over vectors",
    "2556cd8c2c19": "a launcher that is given: how many elements a gradient has",
    "134100e28c41": "the same, a launch",
    "d3f18ca97a18": "the same, a part of that line",
    "10badc6b4f9d": "lab 04, how a sum begins with the bias",
    "6e173d4cb740": "lab 04, gelu: the root of 1/2",
    "3c9f15d89328": "lab 04, the first element of a thread's pack",
    "03ffd2d015dc": "lab 04, scratch for sums",
    "a60f7bea1846": "the same, there was no memory",
    "a9451ed44c81": "lab 04, the loop over tiles",
    "842046e2dcb5": "lab 04, the kernel positions",
    "528d2abde18a": "the same, bytes of a table of them",
    "3240f6a73a48": "lab 04, a weight of a filter: a bug hunt shows it",
    "8e01381700af": "lab 04, a launch with a number of blocks",
    "065ae0532345": "the same, the number worked out in it",
    "41a6149eb186": "the same, of the kernel that adds partial sums up",
    "ac7a5672f269": "the same, its last arguments",
    "6e672d99bb6a": "lab 04, a launcher has nothing more to do",
    "56846c3ff1ad": "lab 03, subm_conv3d: how coordinates are read",
    "6fa21601011e": "the same, the step between n, z, y and x",
    "69ed4aeeaf2a": "the same, the coordinates of one point",
    "59424a3b2452": "lab 03, subm_conv3d: the row of a pair, which 10 prefetches",
}
_LOOP = re.compile(r"for\([^;]*;[^;]*;\w+(\+\+|--)\)\{?|for\w+inrange.*")
# in lab 05: static Tensor forward(const Tensor &input, double alpha)
_SIGNATURE = re.compile(
    r"(static[\w:<>,]+\()?((constTensor&|double|int64_t|constInts&)\w+,?)+\)?"
)
# const int64_t N = output->size[0], OC = output->size[1];
_SIZE = r"\w+=(tensor_count\(\w+,[\w>-]+\)|\w+(->|\.)(size\[[\w>-]+\]|ndim-\d)),?"
_SIZES = re.compile(rf"constint(64|32)_t({_SIZE})+;|\.(size|stride)=\{{.*")
_PARAMETERS = re.compile(
    r"(\w+\()?((const)?(__grid_constant__)?(tensor_t|ctx_t|int64_t|real|\w+_params_t)"
    r"\*?\w+,?)+\)?"
)
# static accum gelu(accum x, int64_t approximate)
_HELPER = re.compile(
    r"static(__device__)?(const)?(void|bool|int|accum|real|pack|\w+_t)\*?\w+\([^;]*"
)


def bare(line: str) -> str:
    """A line without blanks and without what follows // or two blanks and #."""
    line = re.sub(r"(\s//|\s\s#|^\s*(//|#|\*(?=[\s/]|$)|/\*)).*", "", line)
    return re.sub(r"\s+", "", line)


def telling(line: str) -> bool:
    """Whether a bare line says something about how a task is solved."""
    return (
        len(line) >= TELLING
        and not _LOOP.fullmatch(line)
        and not _PARAMETERS.fullmatch(line)
        and not _SIGNATURE.fullmatch(line)
        and not _SIZES.fullmatch(line)
        and not _HELPER.fullmatch(line)
    )


def fingerprint(line: str) -> str:
    """A short name for a bare line that does not tell it."""
    return hashlib.sha256(line.encode()).hexdigest()[:12]


def solution_lines(files: Iterable[Path]) -> dict[str, str]:
    """Every telling line of the solutions in these sources, and where it stands. A case
    has the words of the grader's own case files: they tell nothing.
    """
    found: dict[str, str] = {}
    earlier: set[str] = set()  # what the labs before this one give
    given: set[str] = set()  # and this one
    lab = ""
    for file in sorted(file for file in files if not file.name.endswith(CASE)):
        if file.parents[1].name != lab:
            earlier, given, lab = earlier | given, set(), file.parents[1].name
        text = file.read_text(encoding="utf-8")
        given |= set(map(bare, REGION.sub("", text).splitlines()))
        for solution, _ in REGION.findall(text):
            for line in map(bare, solution.splitlines()):
                public = line in earlier or fingerprint(line) in PUBLIC
                if telling(line) and not public:
                    found.setdefault(line, f"{file.parent.name}/{file.name}")
    return found


def texts(tree: Path) -> Iterator[tuple[Path, str]]:
    """All texts of a tree, but of what was built there; a notebook's are its cells.
    Archives are not opened.
    """
    for file in sorted(tree.rglob("*")):
        built = file.is_relative_to(tree / "build")
        if built or not file.is_file() or file.suffix == ".a":
            continue
        text = file.read_text(encoding="utf-8", errors="replace")
        if file.suffix == ".ipynb":
            cells = json.loads(text).get("cells", [])
            text = "\n".join("".join(cell.get("source", "")) for cell in cells)
        yield file, text


def find(tree: Path, lines: dict[str, str]) -> list[str]:
    """Where a tree has a solution's line: "file: line (of solution; fingerprint)"."""
    found = []
    for file, text in texts(tree):
        found += [f"{file.relative_to(tree)}: {leak}" for leak in inside(text, lines)]
    return found


def inside(text: str, lines: dict[str, str]) -> list[str]:
    """Which solution's lines stand in a text: "line (of solution; fingerprint)"."""
    packed = re.sub(r"\s+", "", text)
    return [
        f"{line} (of {where}; {fingerprint(line)})"
        for line, where in lines.items()
        if line in packed
    ]
