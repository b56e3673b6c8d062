# SPDX-License-Identifier: MIT
"""Builds one operator of lab 05 as its setup.py builds it, into a separate package.

The folder build/extension/graded/<step>/<operator>/package holds a convlab_ext. It has
only this operator's library, and the libraries that its rules call. So if another
operator is unfinished, this one loses nothing. The kernels are made first (kernels.py).
setup.py runs in the compiler's sandbox and gets their objects. If the files have not
changed, the earlier build is kept.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

from ladders import needs
from ladders.rung_objects import MADE
from signatures import DIRECTIONS
from signatures.of_exhibits import EXHIBITS

from grader import once, working
from grader.course.rungs import COMPILED, ROOT, Rung
from grader.course.tasks import all_tasks
from grader.errors import GraderError, ProductError
from grader.toolchain import gpu_probe, sandbox
from grader.toolchain.extension import abi, wrappers
from grader.toolchain.extension import kernels as extension
from grader.toolchain.linking import Links
from grader.toolchain.make import build_folder, compiler, reason, run_compiler
from grader.toolchain.products import failed
from grader.toolchain.scan.texts import JOINED

NAME = "convlab_ext"
ONE_OPERATOR = Path(__file__).with_name("one_operator.py")  # is an exhibit's __init__
PLAIN_RULES = Path(__file__).with_name("plain_rules.py")  # of an exhibit without any

# words of a source that reach for what its symbols do not show
REACHES = re.compile(
    r"\b(dl(sym|open|mopen|vsym)|RTLD_\w+|lookup_stable_symbol|asm|__asm__?"
    r"|TORCH_DYNAMIC_VERSION\w*|aoti_torch_proxy\w*)\b"
)
EXPLAINED = (
    (
        r"expected .*['‘];['’]",
        "a semicolon is missing on this line or at the end of the line before",
    ),
    (r"not declared|has not been declared", "a typing mistake, or a missing #include"),
    (
        r"No such file",
        "you may include bridge.h, the headers of common/ and PyTorch's headers",
    ),
    (r"no matching function", "compare the arguments with the function's declaration"),
    (r"at end of input", "a closing brace is missing"),
)


class _NotBuilt(Exception):
    """What setup.py said when it failed."""


@dataclass(frozen=True)
class Package:
    """What came of building an operator."""

    folder: Path | None = None  # has convlab_ext inside; None after an error
    served: dict[str, str] = field(default_factory=dict)  # direction -> its kernel
    on_card: bool = False  # it has all its kernels for the card that is here, too
    error: str = ""  # one sentence
    forbidden: str = ""  # one sentence: a way to somebody else's operator
    blocked: str = ""  # one sentence: not this file's doing
    location: str | None = None  # file:line


def build(rung: Rung, links: Links) -> Package:
    """Build a step of an operator; the first thing that is wrong in one sentence."""
    operator = rung.operator
    try:
        needs.verify()
        kernels = extension.kernels(operator, "cpu", links)
        on_card = False
        if gpu_probe.card():
            on_card = len(extension.kernels(operator, "cuda", links).served) == 2
    except ProductError:
        raise  # no fault of what is here
    except GraderError as error:
        return Package(blocked=str(error))
    if kernels.file is None and operator not in EXHIBITS:
        return Package(blocked=f"there is no kernel to call: {kernels.reason}")
    if found := REACHES.search(_code(rung.file)):
        return Package(
            forbidden=f"contains '{found[0]}': an operator may call only its kernels, "
            "and must not search for other functions"
        )
    lab, folder = _lab_of(rung), folder_of(rung)
    instead = rung.file if rung.exhibit else None
    if text := _library(lab, operator, rung.step, folder, instead):
        return _explained(text)
    if sentence := abi.judge(_file(folder, operator)):
        return Package(forbidden=sentence)
    _assemble(rung, folder / "package" / NAME, links)
    called = () if operator in EXHIBITS else DIRECTIONS
    lacking = [d for d in called if d not in kernels.served]
    blocked = f"{lacking[0]} has no kernel: {kernels.reason}" if lacking else ""
    return Package(folder / "package", kernels.served, on_card, blocked=blocked)


def _lab_of(rung: Rung) -> Path:
    """The folder with setup.py: an exhibit lies elsewhere, perhaps as it was given."""
    return extension.LAB if rung.exhibit else rung.file.parents[2]


def folder_of(rung: Rung, operator: str = "") -> Path:
    """Where all that is built of a rung goes, or of another operator of its step."""
    if rung.exhibit:
        hunt = rung.task.split("/")[1]
        return build_folder() / "extension" / hunt / rung.file.stem
    name = operator or rung.operator
    return build_folder() / "extension" / "graded" / rung.step / name


def _file(folder: Path, operator: str) -> Path:
    """An operator's library where setup.py put it."""
    return folder / "lib" / NAME / f"_{operator}.abi3.so"


def _code(file: Path) -> str:
    """A source without comments, and lines that go on in the next one joined."""
    text = JOINED.sub("", file.read_text(encoding="utf-8", errors="replace"))
    return re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.S)


def in_place(operators: list[str], links: Links) -> list[str]:
    """Build operators into labs/05_torch_extension/convlab_ext itself, where notebooks
    and `make train` import them; `links` chooses their kernels. One sentence for each
    thing that has to be said.
    """
    lab = extension.LAB
    cuda = os.environ.get("CUDA", "").strip() or ("1" if gpu_probe.card() else "0")
    said = [] if cuda == "1" else ["its CUDA parts are left out (CUDA=1 builds them)"]
    sources = _sources(links)
    if all(_noted(n) == f"{sources} {_made_of(n, cuda)}" for n in operators):
        return said
    try:
        _make_kernels(operators, cuda, links)
    except GraderError as error:
        return [f"not built: {lab.name}: {error}"]
    old = [n for n in operators if not _noted(n).endswith(_made_of(n, cuda))]
    if old and (why := _set_up(old, cuda)):
        return [why]
    for name in operators:
        _note(name).parent.mkdir(parents=True, exist_ok=True)
        _note(name).write_text(f"{sources} {_made_of(name, cuda)}")
    return said


def earlier_steps(
    operators: list[str], links: Links, steps: Sequence[str] = ("pybind", "aten")
) -> str:
    """Build steps (a) and (b) of operators there, for the processor; why it failed, in
    a sentence. What has not changed is not compiled again.
    """
    try:
        _make_kernels(operators, "0", links)
    except GraderError as error:
        return f"not built: {extension.LAB.name}: {error}"
    return _set_up(operators, "0", ",".join(steps))


def _set_up(operators: list[str], cuda: str, steps: str = "stable") -> str:
    """Run setup.py in the lab's own folder. "", or a sentence about what failed."""
    words = {"OPERATORS": ",".join(operators), "CUDA": cuda, "MAX_JOBS": "2"}
    words |= {"STEPS": steps, MADE: str(extension.folder_of_kernels())}
    lab = extension.LAB
    command = ["env", "-C", str(lab), *(f"{k}={v}" for k, v in words.items())]
    with (
        once.alone(build_folder() / "extension" / "in_place"),
        working.on("compile lab 05 for Python"),
    ):
        done = run_compiler([*command, sys.executable, "setup.py", "build_ext", "-i"])
    if not done.returncode:
        return ""
    found = _explained(done.stdout)
    return f"not built: {found.location or lab.name}: {found.error}"


def _sources(links: Links) -> str:
    """A hash of all that decides which rungs serve, and what they are made of: making
    sure of each of them takes seconds, and mostly nothing has changed.
    """
    folders = [ROOT / name for name in ("labs", "common", "grader", "given")]
    kinds = {".c", ".cu", ".h", ".cuh", ".cpp", ".toml", ".mk", ".py", ".a"}
    files = [f for d in folders for f in d.rglob("*") if f.suffix in kinds]
    made = hashlib.sha256()
    for file in sorted(files):
        data = file.read_bytes()
        made.update(f"{file}\0{len(data)}\0".encode() + data)
    chosen = [os.environ.get(name, "") for name in ("CC", "CXX", "NVCC")]
    rungs = [r for t in all_tasks() if t.language in COMPILED for r in t.rungs]
    rungs = [rung for rung in rungs if not rung.is_view]
    chosen += [f"{r.id} {d} {links.earlier(r, d)}" for r in rungs for d in DIRECTIONS]
    return hashlib.sha256(f"{made.hexdigest()} {chosen}".encode()).hexdigest()


def _make_kernels(operators: list[str], cuda: str, links: Links) -> None:
    """The objects of their kernels. Raises GraderError."""
    needs.verify()
    if cuda == "1":
        needs.cuda()  # chooses among several nvcc
    for name in operators:
        for device in ("cpu", "cuda")[: 1 + (cuda == "1")]:
            extension.kernels(name, device, links)


def _note(operator: str) -> Path:
    """Where it is noted what a library in the lab's own folder was made of."""
    return build_folder() / "extension" / "in_place" / operator


def _noted(operator: str) -> str:
    return _note(operator).read_text() if _note(operator).exists() else ""


def _made_of(operator: str, cuda: str) -> str:
    """All that such a library is made of, and the library as it is now."""
    library = extension.LAB / NAME / f"_{operator}.abi3.so"
    data = library.read_bytes() if library.exists() else b""
    sources = _stamp(extension.LAB, operator, "stable")
    return f"{sources} {cuda} {hashlib.sha256(data).hexdigest()}"


# ---- the library ---------------------------------------------------------------------


def _library(
    lab: Path, operator: str, step: str, folder: Path, instead: Path | None = None
) -> str:
    """Run setup.py unless nothing has changed. "" or what it said when it failed. An
    exhibit's C++ is built `instead` of the operator's own.
    """
    linked, made_of = wrappers.flags(
        operator, extension.folder_of_kernels() / f"{operator}.cpu.o"
    )
    now = f"{_stamp(lab, operator, step, instead)} {made_of}"
    try:
        once.made(
            folder / "lib",
            of=now,
            make=lambda new: _built(lab, operator, step, new, instead, linked),
        )
    except _NotBuilt as said:
        return str(said)
    return ""


def _built(
    lab: Path, operator: str, step: str, new: Path, instead: Path | None, linked: str
) -> None:
    """Run setup.py; what it compiles on the way is kept in the product's folder."""
    folder = new.parents[1]
    kernels = extension.folder_of_kernels()
    words = {
        "OPERATORS": operator,
        "STEPS": step,
        "CUDA": "1" if gpu_probe.card() else "0",
        "MAX_JOBS": "2",
        "HOME": "/tmp",
        "PYTHONDONTWRITEBYTECODE": "1",
        MADE: str(kernels),
        "EXHIBIT": str(instead or ""),
        "LDFLAGS": linked,
    }
    command = ["env", "-C", str(lab), *(f"{k}={v}" for k, v in words.items())]
    command += [sys.executable, "setup.py", "-q", "build_ext"]
    command += ["--build-temp", str(folder / "temp")]
    command += ["--build-lib", str(new)]
    seen = [lab.parents[1] / "common", kernels, *sandbox.python_paths()]
    seen += [instead] if instead else []
    if gpu_probe.card() and (kit := gpu_probe.toolkit()):
        seen += kit.seen
    with working.on(f"compile {operator} of lab 05"):
        done = run_compiler(command, sees=lab, own=folder, also=seen)
    if done.returncode:
        raise _NotBuilt(done.stdout or "setup.py failed without a message")


def _stamp(lab: Path, operator: str, step: str, instead: Path | None = None) -> str:
    """A hash of all that the library is made of."""
    files = [lab / "setup.py", *sorted((lab / "csrc").glob("*.*"))]
    files += sorted((lab / "csrc" / step).glob("*.h"))
    files += [instead or lab / "csrc" / step / f"{operator}.cpp"]
    files += sorted((ROOT / "common").glob("*.[ch]"))
    files += sorted(extension.folder_of_kernels().glob(f"{operator}.*.o"))
    made = hashlib.sha256()
    for file in files:
        made.update(f"{file.name}\0".encode() + file.read_bytes())
    tools = (compiler(), os.environ.get("CXX", ""), metadata.version("torch"))
    return f"{made.hexdigest()} {' '.join(tools)} {gpu_probe.card() is not None}"


def _assemble(rung: Rung, target: Path, links: Links) -> None:
    """The package: all Python as it is now, the operator's library, and those of other
    operators that its rules call. One of these that does not build is not there.
    """
    with once.placed(target) as new:
        _copied(rung, new, links)


def _copied(rung: Rung, target: Path, links: Links) -> None:
    lab, operator = _lab_of(rung), rung.operator
    target.mkdir()
    if rung.exhibit:
        rules = [file for file in rung.also if file.suffix == ".py"] or [PLAIN_RULES]
        shutil.copyfile(ONE_OPERATOR, target / "__init__.py")
        shutil.copyfile(rules[0], target / f"{operator}.py")
        library = _file(folder_of(rung), operator)
        shutil.copyfile(library, target / library.name)
        return
    for file in (lab / NAME).glob("*.py"):
        shutil.copyfile(file, target / file.name)
    for name in {operator, *_called(lab / NAME / f"{operator}.py")}:
        folder = folder_of(rung, name)
        if name != operator:
            extension.kernels(name, "cpu", links)
            if _library(lab, name, rung.step, folder):
                continue
        if (library := _file(folder, name)).exists():
            shutil.copyfile(library, target / library.name)


def _called(rules: Path) -> set[str]:
    """Other operators of lab 05 that a module of rules calls (self.ops.matmul)."""
    text = rules.read_text(encoding="utf-8", errors="replace")
    words = {w.removesuffix("_backward") for w in re.findall(r"\bops\.(\w+)", text)}
    with_rules = {
        o for o in extension.operators() if (rules.parent / f"{o}.py").exists()
    }
    return words & with_rules


def _explained(text: str) -> Package:
    """The compiler's first error, its line, and what it usually means."""
    text = text.replace(f"{ROOT}/", "")
    found = failed(text, EXPLAINED)
    ours = re.search(
        r"^convlab_ext: (?!not built|built|\[|\w+ \w+ on )(.*)$", text, re.M
    )
    sentence = found.error
    if found.location is None and ours and sentence == reason(text):
        sentence = ours[1]
    return Package(error=sentence, location=found.location)
