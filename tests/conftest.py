# SPDX-License-Identifier: MIT
"""What all tests share: a build folder of their own, a core of their own, small rungs.

pytest runs in several processes at once (pyproject.toml). Each builds into its own
folder, and each keeps to one core, because the grader pins itself and its workers to
the last core it may use: two test processes on one core would wait for each other.
"""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from xdist.scheduler.loadscope import LoadScopeScheduling

from grader import once
from grader.commands import cli
from grader.course.rungs import ROOT
from grader.runner.supervisor import session
from grader.toolchain import build, cusim, gpu_probe, nvcc, sandbox
from grader.toolchain.make import build_tools
from tests import put
from tests.grader.report.browser import Browser, chromium

# .ci/run fails where a test is skipped for any other reason than a missing GPU
needs_gdb = pytest.mark.skipif(not shutil.which("gdb"), reason="gdb is not installed")
needs_nvcc = pytest.mark.skipif(gpu_probe.toolkit() is None, reason="there is no nvcc")
needs_gpu = pytest.mark.skipif(
    gpu_probe.card() is None, reason=f"{gpu_probe.NEEDS}: {gpu_probe.absent()}"
)
needs_bwrap = pytest.mark.skipif(
    sandbox.level() != "bwrap", reason="the sandbox is not bubblewrap"
)

# tests that compile, start workers or grade tasks: FAST=1 leaves them out
SLOW = (
    "tests/card",
    "tests/labs",
    "tests/proofs",
    "tests/common/cusim/test_cusim.py",
    "tests/common/cusim/test_loops.py",
    "tests/common/cusim/test_nvcc.py",
    "tests/common/test_far_views.py",
    "tests/common/test_portable.py",
    "tests/docs/test_book.py",
    "tests/grader/batch/test_killed_batch.py",
    "tests/grader/batch/test_slurm.py",
    "tests/grader/bench",
    "tests/grader/checks/cuda",
    "tests/grader/checks/gates",
    "tests/grader/checks/memory",
    "tests/grader/checks/values/test_classes.py",
    "tests/grader/checks/speed",
    "tests/grader/checks/views",
    "tests/grader/commands/test_course_handout.py",
    "tests/grader/commands/test_each_format.py",
    "tests/grader/commands/test_debug.py",
    "tests/grader/commands/test_editor.py",
    "tests/grader/commands/test_handed.py",
    "tests/grader/commands/test_handout.py",
    "tests/grader/commands/test_notebooks.py",
    "tests/grader/commands/test_versions.py",
    "tests/grader/diagnosis/test_submissions.py",
    "tests/grader/engine",
    "tests/grader/python",
    "tests/grader/report/marks/test_marks_browser.py",
    "tests/grader/report/test_report_browser.py",
    "tests/grader/runner",
    "tests/grader/toolchain",
    "tests/grader/watch",
    "tests/house/test_references.py",
)
SLOW_FIXTURES = {"extension", "tools", "graded"}
QUICK_AMONG_SLOW = {  # of a slow folder
    f"tests/grader/engine/test_{name}.py"
    for name in ("score", "ledger", "schedule", "graph", "counted")
} | {f"tests/grader/engine/marks/test_{name}.py" for name in ("marks", "hand_ins")}

# files whose tests look at one costly preparation: one process does all of such a file
TOGETHER = (
    "tests/docs/test_book.py",
    "tests/grader/commands/test_course_handout.py",
    "tests/grader/commands/test_each_format.py",
    "tests/grader/commands/test_handed.py",
    "tests/common/cusim/test_nvcc.py",
    "tests/grader/checks/cuda/test_cuda_rungs.py",
    "tests/grader/checks/gates/test_graded.py",
    "tests/grader/commands/test_handout.py",
    "tests/grader/engine/test_grade.py",
    "tests/grader/report/test_report.py",
    "tests/grader/report/test_report_browser.py",
    "tests/grader/report/marks/test_marks_browser.py",
    "tests/grader/watch/test_watch.py",
)
# and one process all that use lab 05's package
LAB_05 = (
    "tests/labs",
    "tests/docs/test_book.py",
    "tests/grader/commands/test_debug.py",
    "tests/grader/commands/test_notebooks.py",
)

GELU = """#include "operators.h"
{before}
status_t gelu_forward(ctx_t *ctx, const tensor_t *input, gelu_params_t p,
                      tensor_t *output)
{{
    const int64_t COUNT = tensor_numel(input);
    const real *x = real_data(input);
    real *y = real_data(output);
    (void)ctx, (void)p, (void)COUNT, (void)x, (void)y;
    {body}
    return STATUS_OK;
}}
"""


class Together(LoadScopeScheduling):
    """Hands out tests one by one, but those of some files as a whole, the large ones
    first.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        if file.startswith(LAB_05):
            return LAB_05[0]
        return file if file in TOGETHER else nodeid


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Together:
    """What `-n` takes for scheduling."""
    return Together(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by what they cost."""
    for item in items:
        file = item.nodeid.partition("::")[0]
        names = set(getattr(item, "fixturenames", ()))
        in_slow = file.startswith(SLOW) and file not in QUICK_AMONG_SLOW
        if in_slow or names & SLOW_FIXTURES:
            item.add_marker(pytest.mark.slow)


def raising(error: Exception) -> Callable[..., object]:
    """A function that only raises."""

    def raises(*_: object, **__: object) -> object:
        raise error

    return raises


@pytest.fixture(scope="session", autouse=True)
def own_place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """CONVLAB_BUILD and, among several test processes, a core for this one alone."""
    folder = tmp_path_factory.mktemp("build")
    os.environ["CONVLAB_BUILD"] = str(folder)
    os.environ["SPEED"] = "off"  # tests assert values and verdicts, never times
    of_a_make_above = {"MAKEFLAGS", "MFLAGS", "MAKELEVEL", cli.TYPED, *cli.declared()}
    for name in ("COLUMNS", *of_a_make_above):  # readline's
        os.environ.pop(name, None)
    # what torch.compile keeps for later runs does not fit another instruction set
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(folder / "inductor")
    number = os.environ.get("PYTEST_XDIST_WORKER", "").removeprefix("gw")
    if number:
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[int(number) % len(cores)]})
        if torch := sys.modules.get("torch"):  # importing it takes seconds
            torch.set_num_threads(1)
    yield folder
    del os.environ["CONVLAB_BUILD"], os.environ["TORCHINDUCTOR_CACHE_DIR"]


@pytest.fixture(autouse=True)
def same_cores_afterwards() -> Iterator[None]:
    """The grader pins the process to a core, looks for nvcc once and keeps builds: the
    next test starts as this one did.
    """
    before = os.sched_getaffinity(0)
    nvcc.find.cache_clear()  # a test may have had NVCC=none
    build.forget()  # or another builder
    yield
    os.sched_setaffinity(0, before)


@pytest.fixture(scope="session")
def tools(own_place: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the grader's own programs, built, and its library loaded: a test
    may name another folder later.

    Several test processes build them once, those of lab 04 too, and copy them.
    """
    if os.environ.get("PYTEST_XDIST_WORKER"):
        built = tmp_path_factory.getbasetemp().parent / "built"
        with once.alone(built):
            if not (built / "whole").exists():
                os.environ["CONVLAB_BUILD"] = str(built)
                build_tools()
                cusim.build_tools()
                cusim.build_tools.cache_clear()  # this process has looked elsewhere
                os.environ["CONVLAB_BUILD"] = str(own_place)
                put(built / "whole")
        for part in ("tools", "cusim"):
            shutil.copytree(built / part, own_place / part, dirs_exist_ok=True)
    build_tools()
    session.core()
    return own_place / "tools"


def libraries_of(file: Path, folder: Path) -> dict[str, Path]:
    """A rung in C as shared objects by dtype, by the rules of rung.mk."""
    command = ["make", "-s", "-f", "common/rung.mk", f"RUNG={file}", f"BUILD={folder}"]
    subprocess.run(command, cwd=ROOT, check=True, timeout=60)
    stem = f"{folder}/rungs/release/{file.with_suffix('')}"
    return {dtype: Path(f"{stem}.{dtype}.so") for dtype in ("f32", "f64")}


@pytest.fixture
def compile_rung(tools: Path, tmp_path: Path) -> Callable[[str], dict[str, Path]]:
    """Source text to shared objects by dtype."""
    numbers = itertools.count()

    def compiled(source: str) -> dict[str, Path]:
        file = put(tmp_path / f"rung{next(numbers)}.c", source)
        return libraries_of(file, tmp_path)

    return compiled


@pytest.fixture
def compile_gelu(
    compile_rung: Callable[[str], dict[str, Path]],
) -> Callable[..., dict[str, Path]]:
    """The statements of a gelu_forward to shared objects: COUNT, x and y are there."""

    def compiled(body: str, *, before: str = "") -> dict[str, Path]:
        return compile_rung(GELU.format(body=body, before=before))

    return compiled


@pytest.fixture(scope="session")
def extension() -> ModuleType:
    """Lab 05's package, built."""
    from tests.labs import extension

    return extension.package()


@pytest.fixture
def plain_compiler(tmp_path: Path) -> str:
    """A compiler that knows no sanitizers."""
    wrapper = put(
        tmp_path / "plain-cc",
        '#!/bin/sh\ncase "$*" in *-fsanitize*)\n'
        '    echo "error: cannot find libasan.so" >&2; exit 1\nesac\nexec cc "$@"\n',
    )
    wrapper.chmod(0o755)
    return str(wrapper)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A headless Chromium with one page."""
    if chromium() is None:
        pytest.skip("needs chromium (make system-packages)")
    started = Browser(tmp_path_factory.mktemp("profile"))
    yield started
    started.close()
