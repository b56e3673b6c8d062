# SPDX-License-Identifier: MIT
"""Builds convlab_ext: one shared library per operator.

    pip install --no-build-isolation -e .        (make build LAB=05 does the same)

Each library is csrc/<step>/<operator>.cpp linked with the operator's kernels, the rungs
of labs 03 and 04 that lab.toml names. What does not compile costs one operator.

    OPERATORS=conv2d,add   only these
    STEPS=pybind,aten      the steps before it, (a) and (b), much slower to compile; the
                           default is (c): stable
    EXHIBIT=FILE.cpp       build this in the place of the operator's own file: bug_hunt/
    CUDA=1, CUDA=0         insist on CUDA, or leave it out; by default it is built if
                           a fitting nvcc is there, a GPU is not needed

No -std flag is given: PyTorch's BuildExtension knows the one its headers want.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "common" / "python")]

try:
    import torch  # noqa: F401
except ImportError:
    sys.exit(
        f"convlab_ext: {sys.executable} has no torch: run "
        f"{os.path.relpath(ROOT / '.venv/bin/python')} {' '.join(sys.argv)} (pip "
        "builds in an empty environment, unless you run pip install "
        "--no-build-isolation -e .)"
    )

try:
    from setuptools import setup
except ImportError:
    sys.exit(
        f"convlab_ext: {sys.executable} has no setuptools: pip install 'setuptools>=77'"
    )
from torch.utils.cpp_extension import BuildExtension, CppExtension  # noqa: E402

from grader.engine.answers import earlier_links  # noqa: E402
from grader.errors import GraderError  # noqa: E402
from grader.toolchain.extension import kernels, needs  # noqa: E402
from grader.toolchain.make import build_folder  # noqa: E402

TARGET = "0x020b000000000000"  # the stable ABI of PyTorch 2.11, and all later ones
FLAGS = ["-O2", "-g0", "-Wall", "-Wextra", "-Wno-unused-parameter"]
SUFFIXES = {"stable": "", "aten": "_aten", "pybind": "_pybind"}  # of a library's name


def chosen(name: str, default: str, known: list[str]) -> list[str]:
    """A list from the environment."""
    words = os.environ.get(name, default).replace(",", " ").split()
    for word in words:
        if word not in known:
            sys.exit(f"convlab_ext: {name}={word}: expected some of {' '.join(known)}")
    return words


def library(operator: str, step: str, cuda: needs.Cuda) -> CppExtension:
    """One operator of one step, with its kernels."""
    objects = []
    for device in ["cpu", *(["cuda"] if cuda.built else [])]:
        made = kernels.kernels(operator, device, earlier_links.kernel_links())
        if made.reason:
            print(f"convlab_ext: {operator} on {device}: {made.reason}")
        if made.file:
            objects.append(str(made.file))
        for direction, rung in made.served.items():
            print(f"convlab_ext: {operator} {direction} on {device}: {rung}")
    flags = [*FLAGS]
    if step == "stable":
        flags.append(f"-DTORCH_TARGET_VERSION={TARGET}")
    if cuda.built:
        flags += ["-DCONVLAB_CUDA", "-DUSE_CUDA"]
    source = os.environ.get("EXHIBIT") or f"csrc/{step}/{operator}.cpp"
    ours = [str(HERE / "csrc" / step), str(HERE / "csrc"), str(ROOT / "common")]
    return CppExtension(
        f"convlab_ext._{operator}{SUFFIXES[step]}",
        [source, "csrc/check.cpp"],
        include_dirs=[*ours, *cuda.include],
        extra_objects=objects,
        depends=[*map(str, HERE.glob("csrc/**/*.h")), *objects],
        extra_compile_args=flags,
        extra_link_args=[
            "-fopenmp",
            "-Wl,-Bsymbolic,--as-needed,--strip-debug",
            *cuda.link,
        ],
        py_limited_api=step == "stable",
    )


class Build(BuildExtension):
    """Goes on after a library that does not compile, and fails at the end."""

    def get_ext_filename(self, ext_name: str) -> str:
        """_conv2d_aten.so: no module of one Python, but a library PyTorch loads."""
        if ext_name.endswith(SUFFIXES["aten"]):
            return f"{ext_name.replace('.', os.sep)}.so"
        return super().get_ext_filename(ext_name)

    def build_extensions(self) -> None:
        """Every library on its own."""
        self.broken: list[str] = []
        super().build_extensions()
        if self.broken:
            sys.exit(f"convlab_ext: not built: {', '.join(self.broken)}")

    def build_extension(self, ext: CppExtension) -> None:
        """One library; an error is told and remembered.

        In a folder of its own: a library's name is among the compiler's flags, so that
        ninja would compile what libraries share, check.cpp, for each of them anew.
        """
        shared, self.build_temp = self.build_temp, f"{self.build_temp}/{ext.name}"
        try:
            super().build_extension(ext)
        except Exception as error:
            print(f"convlab_ext: {ext.sources[0]}: {error}", file=sys.stderr)
            self.broken.append(ext.name)
        finally:
            self.build_temp = shared


def main() -> None:
    """Say what is built, and build it."""
    known = kernels.operators()
    steps = chosen("STEPS", "stable", [*SUFFIXES])
    try:
        needs.verify()
        cuda = needs.cuda()
        print(f"convlab_ext: {cuda.sentence}")
        libraries = [
            library(operator, step, cuda)
            for step in steps
            for operator in chosen("OPERATORS", ",".join(known), known)
            if (HERE / "csrc" / step / f"{operator}.cpp").exists()
        ]
    except GraderError as error:
        sys.exit(f"convlab_ext: {error}")
    temporary = str(build_folder() / "extension")
    setup(
        ext_modules=libraries,
        cmdclass={"build_ext": Build},
        options={"build": {"build_base": temporary}},
    )


main()
