# SPDX-License-Identifier: MIT
"""Builds convlab_ext: one shared library per operator.

    pip install --no-build-isolation -e .        (make build LAB=05 does the same)

Each library is csrc/<step>/<operator>.cpp linked with the operator's kernels, the rungs
of labs 03 and 04 that lab.toml names. What does not compile costs one operator. Only
build_ext compiles, and each rung has a line; what pip asks before takes no compiler.
A wheel has kernels for all processors with AVX2, what is built in place for this one.

    OPERATORS=conv2d,add   only these
    STEPS=pybind,aten      the steps before it, (a) and (b), much slower to compile; the
                           default is (c): stable
    EXHIBIT=FILE.cpp       build this file of bug_hunt/, which calls no kernel of ours
    CUDA=1, CUDA=0         insist on CUDA, which needs no GPU, or leave it out; by
                           default it is built if a GPU and a fitting nvcc are there
    LEVELS=native          a wheel for this processor only
    MAX_JOBS=2             compile so many files at once; by default as many as cores

No -std flag is given: PyTorch's BuildExtension knows the one its headers want.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE if (HERE / "common").is_dir() else HERE.parents[1]  # of an sdist: here
BUILD = Path(os.environ.get("CONVLAB_BUILD") or ROOT / "build").resolve() / "extension"
sys.path.insert(0, str(ROOT / "common" / "python"))

try:
    from setuptools import Extension, setup
    from setuptools.command.build import build
    from setuptools.command.build_ext import build_ext
    from setuptools.command.sdist import sdist
except ImportError:
    sys.exit(
        f"convlab_ext: {sys.executable} has no setuptools: pip install 'setuptools>=77'"
    )

from ladders import Refusal, needs, rung_objects, toolkit  # noqa: E402
from ladders.chosen import targets  # noqa: E402
from signatures.of_exhibits import ALL  # noqa: E402

TARGET = "0x020b000000000000"  # the stable ABI of PyTorch 2.11, and all later ones
FLAGS = ["-O2", "-g0", "-Wall", "-Wextra", "-Wno-unused-parameter"]
SUFFIXES = {"stable": "", "aten": "_aten", "pybind": "_pybind"}  # of a library's name
OLDEST = "cp310"  # Python; a wheel of step (c) serves it and all later ones


def say(sentence: str) -> None:
    """A line that a waiting person sees at once, also through a pipe."""
    print(f"convlab_ext: {sentence}", flush=True)


def chosen(name: str, default: str, known: list[str]) -> list[str]:
    """A list from the environment."""
    words = os.environ.get(name, default).replace(",", " ").split()
    for word in words:
        if word not in known:
            sys.exit(f"convlab_ext: {name}={word}: expected some of {' '.join(known)}")
    return words


class Library(Extension):
    """One operator of one step. It gets its kernels, and PyTorch, in build_ext."""

    def __init__(self, operator: str, step: str) -> None:
        flags = [*FLAGS]
        if step == "stable":
            flags.append(f"-DTORCH_TARGET_VERSION={TARGET}")
        if step == "aten":
            flags.append("-fopenmp")  # at::parallel_for is a loop of OpenMP
        source = os.environ.get("EXHIBIT") or f"csrc/{step}/{operator}.cpp"
        ours = [HERE / "csrc" / step, HERE / "csrc", ROOT / "common"]
        super().__init__(
            f"convlab_ext._{operator}{SUFFIXES[step]}",
            [source],
            include_dirs=[str(folder) for folder in ours],
            depends=[str(h.relative_to(HERE)) for h in HERE.glob("csrc/**/*.h")],
            extra_compile_args=flags,
            extra_link_args=["-fopenmp", "-Wl,-Bsymbolic,--as-needed,--strip-debug"],
            py_limited_api=step == "stable",
        )
        self.operator = operator

    def add(self, objects: list[str]) -> None:
        """Link it with these objects."""
        self.extra_objects += objects
        self.depends += objects

    def add_torch(self, cuda: needs.Cuda) -> None:
        """Compile and link it with PyTorch, and with CUDA if that is built."""
        extension = needs.cpp_extension().CppExtension
        torchs = extension(self.name, [], py_limited_api=self.py_limited_api)
        self.include_dirs += torchs.include_dirs
        self.library_dirs += torchs.library_dirs
        self.libraries += torchs.libraries
        self.language = torchs.language
        if cuda.built:
            self.extra_compile_args += ["-DCONVLAB_CUDA", "-DUSE_CUDA"]
            self.include_dirs += cuda.include
            self.extra_link_args += cuda.link


class Named:
    """How files are named, for both commands below."""

    def get_ext_filename(self, ext_name: str) -> str:
        """_conv2d_aten.so: no module of one Python, but a library PyTorch loads."""
        if ext_name.endswith(SUFFIXES["aten"]):
            return f"{ext_name.replace('.', os.sep)}.so"
        return super().get_ext_filename(ext_name)  # type: ignore[misc]


class Build(Named, build_ext):
    """Compiles the kernels, then lets PyTorch's build_ext compile the libraries.

    PyTorch is imported here and no earlier. So pip's questions are answered at once.
    """

    def build_extensions(self) -> None:
        """Says what it does; ends with a sentence if something is missing."""
        if importlib.util.find_spec("torch") is None:
            sys.exit(
                f"convlab_ext: {sys.executable} has no torch: run "
                f"{os.path.relpath(ROOT / '.venv/bin/python')} {' '.join(sys.argv)} "
                "(pip builds in an empty environment, unless you run pip install "
                "--no-build-isolation -e .)"
            )
        try:
            needs.verify()
            cuda = needs.cuda()
            say(cuda.sentence)
            self._compile_kernels(cuda.built)
        except Refusal as error:
            sys.exit(f"convlab_ext: {error}")
        check = self._compile_here("csrc/check.cpp")
        for library in self.extensions:
            library.add_torch(cuda)
            library.add(check)
        with_torch = torchs_command()(self.distribution)
        vars(with_torch).update(vars(self) | {"force": True})  # ninja knows better
        with_torch.build_extensions()

    def _compile_kernels(self, with_cuda: bool) -> None:
        """The kernels of all libraries, and who serves. Raises Refusal."""
        known = targets(HERE)
        names = [x.operator for x in self.extensions if x.operator in known]
        names = list(dict.fromkeys(names))
        if folder := os.environ.get(rung_objects.MADE):
            devices = ["cpu", *(["cuda"] if with_cuda else [])]
            found = {
                (n, d): rung_objects.read(Path(folder), n, d)
                for n in names
                for d in devices
            }
        else:
            found = self._maker().kernels(names, self._variants(with_cuda))
        for (name, device), one in found.items():
            tell(name, device, one)
            for library in self.extensions:
                if library.operator == name:
                    library.add([str(file) for file in one.files])

    def _variants(self, with_cuda: bool) -> list[rung_objects.Variant]:
        """How rungs are compiled: in place for this processor, else for a wheel."""
        here = self.inplace or self.editable_mode or chosen("LEVELS", "", ["native"])
        variants = rung_objects.native() if here else rung_objects.of_a_wheel()
        if len(variants) > 1:  # Python asks which of them the processor runs
            to = Path(self.build_lib, "convlab_ext", "_cpu_level.so")
            level = self._compile_here("csrc/level.c")
            self.compiler.link_shared_object(level, str(to))
        kit = toolkit.toolkit() if with_cuda else None
        return [*variants, *([rung_objects.for_cards(kit)] if kit else [])]

    def _maker(self) -> rung_objects.Maker:
        rung_objects.fit_for_make(ROOT, "this folder", "move it elsewhere")
        rung_objects.fit_for_make(
            BUILD, "the build folder", "name another with CONVLAB_BUILD="
        )
        return rung_objects.Maker(ROOT, HERE, BUILD / "packaged", say)

    def _compile_here(self, source: str) -> list[str]:
        """The object of a source that includes nothing of PyTorch."""
        ours = [str(ROOT / "common")]
        flags = [*FLAGS, "-fPIC"]
        return self.compiler.compile(
            [source],
            output_dir=self.build_temp,
            include_dirs=ours,
            extra_postargs=flags,
        )


def tell(operator: str, device: str, kernels: rung_objects.Kernels) -> None:
    """Say which rungs serve, and why another one does not."""
    if kernels.reason:
        say(f"{operator} on {device}: {kernels.reason}")
    for direction, rung in kernels.served.items():
        say(f"{operator} {direction} on {device}: {rung}")


def torchs_command() -> type[Any]:
    """PyTorch's build_ext, which goes on after a library that does not compile."""
    BuildExtension = needs.cpp_extension().BuildExtension

    class WithTorch(Named, BuildExtension):
        """Compiles with ninja; fails at the end if a library has failed."""

        def build_extensions(self) -> None:
            """Every library on its own."""
            self.broken: list[str] = []
            super().build_extensions()
            if self.broken:
                sys.exit(f"convlab_ext: not built: {', '.join(self.broken)}")

        def build_extension(self, ext: Library) -> None:
            """One library; an error is told and remembered."""
            try:
                super().build_extension(ext)
            except Exception as error:
                print(f"convlab_ext: {ext.sources[0]}: {error}", file=sys.stderr)
                self.broken.append(ext.name)

    return WithTorch


class Whole(build):
    """Builds a wheel in an empty folder: no library of an earlier build is in it."""

    def run(self) -> None:
        """Empty the folder, unless somebody has named it."""
        if Path(self.build_lib).name.startswith("lib."):
            shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()


class Sources(sdist):
    """Adds what lies outside of this folder: the chosen rungs, and common/."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        """Copy all of it, so that the archive is built without the repository."""
        super().make_release_tree(base_dir, files)
        try:
            others = rung_objects.sources(ROOT, HERE)
        except Refusal as error:
            sys.exit(f"convlab_ext: {error}")
        for file, name in others:
            target = Path(base_dir, name)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)


def main() -> None:
    """Say what can be built; setup() builds it if it is asked to."""
    exhibit = os.environ.get("EXHIBIT")
    known = list(ALL) if exhibit else list(targets(HERE))
    steps = chosen("STEPS", "stable", [*SUFFIXES])
    operators = chosen("OPERATORS", ",".join(known), known)
    for_all = {"py_limited_api": OLDEST} if steps == ["stable"] else {}
    setup(
        ext_modules=[
            Library(operator, step)
            for step in steps
            for operator in operators
            if exhibit or (HERE / "csrc" / step / f"{operator}.cpp").exists()
        ],
        cmdclass={"build": Whole, "build_ext": Build, "sdist": Sources},
        options={"build": {"build_base": str(BUILD)}, "bdist_wheel": for_all},
    )


main()
