# SPDX-License-Identifier: MIT
"""Builds convlab_ext: one shared library per operator.

    pip install --no-build-isolation -e .        (make build LAB=05 does the same)

Each library is csrc/<step>/<operator>.cpp linked with the operator's kernels, the rungs
of labs 03 and 04 that lab.toml names. What does not compile costs one operator. Only
build_ext compiles, and each rung has a line; what pip asks before takes no compiler.

    OPERATORS=conv2d,add   only these
    STEPS=pybind,aten      the steps before it, (a) and (b), much slower to compile; the
                           default is (c): stable
    EXHIBIT=FILE.cpp       build this in the place of the operator's own file: bug_hunt/
    CUDA=1, CUDA=0         insist on CUDA, which needs no GPU, or leave it out; by
                           default it is built if a GPU and a fitting nvcc are there
    MAX_JOBS=2             compile so many files at once; by default as many as cores

No -std flag is given: PyTorch's BuildExtension knows the one its headers want.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "common" / "python")]

try:
    from setuptools import Extension, setup
    from setuptools.command.build_ext import build_ext
except ImportError:
    sys.exit(
        f"convlab_ext: {sys.executable} has no setuptools: pip install 'setuptools>=77'"
    )

from grader.engine.answers import earlier_links  # noqa: E402
from grader.errors import GraderError  # noqa: E402
from grader.toolchain.extension import ahead, kernels, needs  # noqa: E402
from grader.toolchain.make import build_folder  # noqa: E402

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
            [source, "csrc/check.cpp"],
            include_dirs=[str(folder) for folder in ours],
            depends=[str(header) for header in HERE.glob("csrc/**/*.h")],
            extra_compile_args=flags,
            extra_link_args=["-fopenmp", "-Wl,-Bsymbolic,--as-needed,--strip-debug"],
            py_limited_api=step == "stable",
        )
        self.operator = operator

    def add_kernels(self, objects: list[str]) -> None:
        """Link it with these objects."""
        self.extra_objects += objects
        self.depends += objects

    def add_torch(self, cuda: needs.Cuda) -> None:
        """Compile and link it with PyTorch, and with CUDA if that is built."""
        from torch.utils.cpp_extension import CppExtension

        torchs = CppExtension(self.name, [], py_limited_api=self.py_limited_api)
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
            self._compile_kernels(["cpu", *(["cuda"] if cuda.built else [])])
        except GraderError as error:
            sys.exit(f"convlab_ext: {error}")
        for library in self.extensions:
            library.add_torch(cuda)
        with_torch = torchs_command()(self.distribution)
        vars(with_torch).update(vars(self) | {"force": True})  # ninja knows better
        with_torch.build_extensions()

    def _compile_kernels(self, devices: list[str]) -> None:
        """The kernels of all libraries, and who serves. Raises GraderError."""
        names = list(dict.fromkeys(library.operator for library in self.extensions))
        ahead.compile(names, devices, say)
        for name in names:
            objects = [made for device in devices if (made := kernel(name, device))]
            for library in self.extensions:
                if library.operator == name:
                    library.add_kernels(objects)


def kernel(operator: str, device: str) -> str:
    """The object of an operator's kernels on a device, made now; "" if there is none.
    Says which rungs serve.
    """
    made = kernels.kernels(operator, device, earlier_links.kernel_links())
    if made.reason:
        say(f"{operator} on {device}: {made.reason}")
    for direction, rung in made.served.items():
        say(f"{operator} {direction} on {device}: {rung}")
    return str(made.file or "")


def torchs_command() -> type[Any]:
    """PyTorch's build_ext, which goes on after a library that does not compile."""
    from torch.utils.cpp_extension import BuildExtension

    class WithTorch(Named, BuildExtension):
        """Compiles with ninja; fails at the end if a library has failed."""

        def build_extensions(self) -> None:
            """Every library on its own."""
            self.broken: list[str] = []
            super().build_extensions()
            if self.broken:
                sys.exit(f"convlab_ext: not built: {', '.join(self.broken)}")

        def build_extension(self, ext: Library) -> None:
            """One library; an error is told and remembered.

            In a folder of its own: a library's name is among the compiler's flags, so
            that ninja would compile what libraries share, check.cpp, for each of them
            anew.
            """
            shared, self.build_temp = self.build_temp, f"{self.build_temp}/{ext.name}"
            try:
                super().build_extension(ext)
            except Exception as error:
                print(f"convlab_ext: {ext.sources[0]}: {error}", file=sys.stderr)
                self.broken.append(ext.name)
            finally:
                self.build_temp = shared

    return WithTorch


def main() -> None:
    """Say what can be built; setup() builds it if it is asked to."""
    known = kernels.operators()
    steps = chosen("STEPS", "stable", [*SUFFIXES])
    operators = chosen("OPERATORS", ",".join(known), known)
    try:
        temporary = str(build_folder() / "extension")
    except GraderError as error:
        sys.exit(f"convlab_ext: {error}")
    for_all = {"py_limited_api": OLDEST} if steps == ["stable"] else {}
    setup(
        ext_modules=[
            Library(operator, step)
            for step in steps
            for operator in operators
            if (HERE / "csrc" / step / f"{operator}.cpp").exists()
        ],
        cmdclass={"build_ext": Build},
        options={"build": {"build_base": temporary}, "bdist_wheel": for_all},
    )


main()
