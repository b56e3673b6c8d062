# SPDX-License-Identifier: MIT
"""Lab 03 elsewhere: AVX2 under valgrind, clang, 128-bit vectors, and aarch64 in an
emulator.

The grader runs every rung as gcc builds it for this machine. Here the same sources run
as others would have them, on the same cases, against the same reference: every ladder
on one target in turn, every second one on aarch64; WHOLE=1 tries each on each target.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from grader import operators
from grader.checks.subject import DTYPES, EVERYWHERE
from grader.checks.values.compare import mismatch
from grader.checks.values.forward import expectations, output_dtypes
from grader.checks.values.gradient import expected_gradients
from grader.course.rungs import DIRECT, ROOT, WINOGRAD, Rung, Task
from grader.course.tasks import all_tasks
from grader.engine.answers.earlier_links import build
from grader.operators import Case, Operator
from tests import NATIVE, PROGRAMS, WHOLE
from tests.common.portable import Target, read, written

SEED = 5
GELU = ROOT / "labs" / "02_naive_c" / "gelu" / "00_definition.c"
LADDERS = [
    task
    for task in all_tasks()
    if task.lab == "03_im2col_cpu" and task.rungs and not task.is_hunt
]
# Tuned for some processors (Zen 2 to 4), gcc fuses no multiply-adds in a loop that
# sums into one register; with this flag it fuses none there for any processor.
UNFUSED = "--param=avoid-fma-max-bits=512"
BUILDS = [(NATIVE,), ("-march=x86-64-v3", UNFUSED)]
VALGRIND = (
    *("valgrind", "-q", "--error-exitcode=9", "--leak-check=no"),
    f"--suppressions={PROGRAMS / 'portable' / 'valgrind.supp'}",
)
TARGETS = {
    "avx2_valgrind": Target("x", ("gcc", "-march=haswell", "-g"), VALGRIND),
    "clang": Target("x", ("clang", NATIVE, "-fno-openmp")),
    "sse": Target("x", ("gcc", "-march=x86-64-v2")),
    "aarch64": Target("x", ("aarch64-linux-gnu-gcc", "-static"), ("qemu-aarch64",)),
}
ASKED = [
    ("avx2_valgrind", "f32"),
    ("clang", "f32"),
    ("clang", "f64"),
    ("sse", "f32"),
    ("aarch64", "f32"),
    ("aarch64", "f64"),
]
SLOW = {"avx2_valgrind", "aarch64"}  # an emulator's: fewer cases
HEAVY = "conv2d"  # its files take minutes under valgrind: last, it gets clang
ORDER = sorted(LADDERS, key=lambda task: task.operator == HEAVY)
ELSE = ASKED[:4]  # not aarch64
SAMPLE = [
    (task, *(ELSE[(i // 2 + 1) % 4] if i % 2 else ASKED[4 + i // 2 % 2]))
    for i, task in enumerate(ORDER)
]
TRIED = [(t, *pair) for t in LADDERS for pair in ASKED] if WHOLE else SAMPLE


def missing(target: Target) -> str:
    """Tools that a target needs and this machine lacks."""
    tools = (target.compiler[0], *target.runner[:1])
    return ", ".join(tool for tool in tools if not shutil.which(tool))


def prepared(
    task: Task, dtype: str, *, slow: bool = False, threads: int = 1
) -> tuple[list[Prepared], bytes]:
    """The cases of a ladder and what the driver reads of them; in an emulator the
    larger and stranger ones.
    """
    operator = operators.get(task.operator)
    cases = operator.cases(SEED, drawn=0 if slow else 4)
    cases = [c for c in cases if c.wanted is None][:: 2 if slow else 1]
    calls = [Prepared(operator, case, dtype, threads) for case in cases]
    return calls, len(calls).to_bytes(8, "little") + b"".join(c.data for c in calls)


@pytest.mark.parametrize(
    ("task", "name", "dtype"),
    TRIED,
    ids=[f"{task.operator}-{name}-{dtype}" for task, name, dtype in TRIED],
)
def test_every_rung_is_right_elsewhere(
    task: Task, name: str, dtype: str, tmp_path: Path
) -> None:
    target = TARGETS[name]
    if tools := missing(target):
        pytest.skip(f"needs {tools}: make system-packages")
    program = target.build(task, dtype, tmp_path)
    calls, data = prepared(task, dtype, slow=name in SLOW)
    assert calls
    for i, rung in enumerate(task.rungs):
        status, said, results = target.run(program, i, data, tmp_path)
        assert (status, said) == (0, ""), f"{rung.id}: {said}"
        loose = any(r.numerics == WINOGRAD for r in task.rungs[: i + 1])
        for call in calls:
            state, results = read(results, call.room)
            assert state == 0, f"{rung.id}, {call.case.name}: status {state}"
            wrong = call.wrong(WINOGRAD if loose else DIRECT)
            assert not wrong, f"{rung.id}, {call.case.name}: {wrong}"


def test_the_sample_has_every_ladder_and_every_target() -> None:
    assert {task.operator for task, _, _ in SAMPLE} == {t.operator for t in LADDERS}
    assert {(name, dtype) for _, name, dtype in SAMPLE} == set(ASKED)


class Prepared:
    """A case, ready for the driver, and what must come out."""

    def __init__(
        self, operator: Operator, case: Case, dtype: str, threads: int
    ) -> None:
        kind = DTYPES[dtype]
        self.operator, self.case = operator, case
        self.inputs = operator.inputs(case, kind, SEED)
        outputs = operator.outputs(self.inputs, case)
        grads = operator.grad_outputs(case, outputs, kind, SEED)
        self.truth = operator.truth(self.inputs, case, grads)
        gradients = [
            torch.full(g.shape, torch.nan, dtype=kind) if g is not None else None
            for g in self.truth.gradients
        ]
        self.room = [torch.full(o.shape, torch.nan, dtype=kind) for o in outputs]
        self.room += self._saved(kind) + gradients
        self.data = written(
            operator, case, self.inputs, grads, self.room, threads=threads
        )

    def _saved(self, kind: torch.dtype) -> list[torch.Tensor | None]:
        """Room for what forward leaves to backward."""
        if not self.operator.signature.saved:
            return []
        subject = SimpleNamespace(operator=self.operator)
        kinds = output_dtypes(subject, kind)  # type: ignore
        saved = self.operator.saved(self.inputs, self.case)
        return [
            torch.zeros(pair[0].shape, dtype=made)
            for pair, made in zip(saved, kinds[-len(saved) :], strict=True)
        ]

    def wrong(self, numerics: str) -> str:
        """The first difference from the reference; "" if there is none."""
        subject = SimpleNamespace(
            operator=self.operator, numerics_of=lambda _: numerics
        )
        given = (subject, self.case, self.inputs, self.truth)
        right = [*expectations(*given), *expected_gradients(*given)]  # type: ignore
        pairs = zip(self.room, right, strict=True)
        texts = (mismatch(got, wanted) for got, wanted in pairs if wanted is not None)
        return next(filter(None, texts), "")


@pytest.mark.parametrize("flags", BUILDS, ids=lambda flags: flags[0][7:])
@pytest.mark.parametrize("dtype", EVERYWHERE if WHOLE else ["f32"])
@pytest.mark.parametrize("operator", ["matmul", "conv2d"])
def test_results_are_equal_bit_for_bit_for_any_number_of_threads(
    operator: str, dtype: str, flags: tuple[str, ...], tmp_path: Path
) -> None:
    (task,) = [task for task in LADDERS if task.operator == operator]
    native = Target("x", ("gcc", *flags))
    program, last = native.build(task, dtype, tmp_path), len(task.rungs) - 1
    found = set()
    for threads in (1, 2, 3):
        _, data = prepared(task, dtype, threads=threads)
        status, said, results = native.run(program, last, data, tmp_path)
        assert (status, said) == (0, "")
        found.add(results)
    assert len(found) == 1


LOADS = """
import ctypes, sys
libm = ctypes.CDLL("libm.so.6")
ctypes.CDLL(sys.argv[1])
print(ctypes.c_float(1e-40).value * 1.0 != 0, libm.fegetround())
import numpy
print(numpy.float32(1e-40) * numpy.float32(1) != 0)
"""


def test_a_rung_with_fast_math_leaves_the_process_that_loads_it_as_it_was(
    tools: Path, tmp_path: Path
) -> None:
    """gcc links code that turns small numbers into 0 for the whole process, if it is
    told -ffast-math when it links: so it is told only when it compiles.
    """
    rung = Rung("02_naive_c/gelu", GELU, flags=("-ffast-math",))
    library = build(rung).libraries["f32"]
    done = subprocess.run(
        [sys.executable, "-c", LOADS, str(library)], capture_output=True, text=True
    )
    assert done.stdout.split() == ["True", "0", "True"], done.stderr
