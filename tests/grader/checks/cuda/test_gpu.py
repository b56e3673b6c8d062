# SPDX-License-Identifier: MIT
"""The path of a real GPU, without one: cusim takes the place of NVIDIA's runtime.

cusim has the API of CUDA's runtime, so that the worker for a card and all of the
grader around it run here as they do there; only nvcc's objects and a card's times are
missing. What nothing but a card can show is skipped, with a reason that says so.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grader import operators
from grader.checks.check_result import CheckResult, Stopped
from grader.checks.cuda import compute_sanitizer, values_on_gpu
from grader.checks.speed import gpu_speed
from grader.checks.subject import Subject
from grader.course.rungs import Rung
from grader.course.tasks import all_tasks
from grader.engine.checking import on_gpu
from grader.engine.checking.runnable import of_build
from grader.runner import programs
from grader.runner.supervisor.call import Run
from grader.toolchain import cusim, gpu_build, gpu_probe, make, sandbox
from grader.toolchain.build import compiled
from grader.toolchain.linking import OWN_FILES, Links
from grader.toolchain.make import run_make
from grader.toolchain.symbols import symbols
from grader.verdicts import Verdict
from tests import ALL_RIGHT
from tests.card.host_clock import HostClock
from tests.conftest import needs_gpu, needs_nvcc
from tests.grader.checks.cuda.gelu_ladder import RIGHT, STORE, TAIL
from tests.grader.checks.cuda.test_compute_sanitizer import RACE

PRETENDED = gpu_probe.Gpu(
    "a pretended card", "sm_90", 1, 1, 0, 1 << 30, 13000, 13000, 1e9
)


def rung_called(name: str) -> Rung:
    """A rung of lab 04."""
    rungs = [rung for task in all_tasks() for rung in task.rungs]
    return next(rung for rung in rungs if rung.id == f"04_cuda_kernels/{name}")


def checked(subject: Subject, few: int = 4) -> CheckResult:
    """The last of the checks of values on a card."""
    cases = subject.operator.cases(1)[:few]
    return values_on_gpu.check(subject, cases, "forward", 1)[-1]


# ---- built for a card ----------------------------------------------------------------


@needs_nvcc
def test_nvcc_s_library_exports_the_operator_alone_also_with_lower_rungs(tools):
    links = Links(lambda rung: compiled(rung, mode="gpu"), judge=ALL_RIGHT)
    rung = rung_called("add/02_float4")
    built = links.build(rung, mode="gpu", walk=OWN_FILES)
    assert built.uses == {"lower": "04_cuda_kernels/add/01_coalesced"}, built
    assert built.directions == ("forward", "backward")
    for library in built.libraries.values():
        exported, taken = symbols(library)
        assert exported == {"add_forward", "add_backward"}
        assert "cudaGetLastError" in taken  # the runtime is the worker's
        assert programs.program_of(library) == gpu_probe.PROGRAM


@needs_nvcc
def test_the_worker_for_a_card_shares_its_runtime(tools):
    gpu_probe.build_tools.cache_clear()
    gpu_probe.build_tools()
    done = subprocess.run(
        ["readelf", "-d", tools / gpu_probe.PROGRAM], capture_output=True, text=True
    )
    assert "libcudart.so" in done.stdout


def test_the_first_error_of_nvcc_has_its_line():
    text = 'labs/04_cuda_kernels/add/00.cu(12): error: identifier "x" is undefined\n'
    built = gpu_build._failed(text)
    assert built.location == "labs/04_cuda_kernels/add/00.cu:12"
    assert "identifier" in built.error


# ---- a worker that takes cusim for a card --------------------------------------------


@pytest.fixture(scope="module")
def card_worker(tools: Path) -> Iterator[None]:
    """worker-cuda-gpu, linked with cusim; nobody looks for devices."""
    cusim.build_tools("run")
    (runtime,) = programs.runtime_of("worker-cuda-run")
    link = f"-L{runtime} -lcusim -Wl,-rpath,{runtime}"
    order = [
        "-f",
        "grader/toolchain/tools.mk",
        f"BUILD={tools.parent}",
        f"CUDART={link}",
    ]
    order += ["CUDA=common/cusim/include", f"CXX={make.named_cpp()}", "gpu"]
    done = run_make(order)
    assert done.returncode == 0, done.stdout
    patch = pytest.MonkeyPatch()
    patch.setattr(gpu_probe, "seen", lambda: [runtime])
    patch.setattr(gpu_probe, "devices", lambda: [])
    yield
    patch.undo()


@pytest.fixture
def on_a_card(card_worker, tools, tmp_path):
    """Source text of a gelu to a subject that runs on the pretended card."""
    subjects = []

    def made(source: str) -> Subject:
        file = tmp_path / "00_rung.cu"
        file.write_text(source)
        order = ["-f", "common/cuda.mk", f"RUNG={file}", "MODE=run", "DTYPES=f32 f64"]
        order += [f"FOLDER={gpu_probe.FOLDER}", f"BUILD={tools.parent}", "CXX=g++"]
        done = run_make(order)
        assert done.returncode == 0, done.stdout
        stem = f"{tools.parent}/rungs/{gpu_probe.FOLDER}/{file.with_suffix('')}"
        libraries = {d: Path(f"{stem}.{d}.so") for d in ("f32", "f64")}
        pairs = {dtype: (path, path) for dtype, path in libraries.items()}
        subjects.append(Subject(operators.get("gelu"), libraries=pairs))
        return subjects[-1]

    yield made
    for subject in subjects:
        subject.close()


def test_a_right_rung_passes_in_both_dtypes(on_a_card):
    cases = operators.get("gelu").cases(1)
    found = values_on_gpu.check(on_a_card(RIGHT), cases, "forward", 1)
    assert {(f.name, f.verdict) for f in found} == {("gpu forward", Verdict.PASS)}
    assert [f.dtype for f in found] == ["f32", "f64"]


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        ((TAIL, TAIL.replace(">=", ">")), "past the end of 'output'"),
        ((STORE, STORE + "    if (i == 0) output[-1] = real_from(1);\n"), "before"),
        (
            (STORE, STORE + "    const_cast<real *>(input)[i] = 0;\n"),
            "wrote to its input",
        ),
    ],
)
def test_bytes_around_a_tensor_and_inputs_are_looked_at(on_a_card, edit, words):
    found = checked(on_a_card(RIGHT.replace(*edit)))
    assert found.verdict is Verdict.MEMORY_ERROR and words in found.message


def test_a_kernel_that_fails_is_a_crash_and_the_next_call_gets_a_new_worker(on_a_card):
    trap = "    if (COUNT == 0) return;\n    __trap();\n"
    found = checked(on_a_card(RIGHT.replace(TAIL, TAIL + trap)), few=2)
    assert found.verdict is Verdict.CRASH, found
    assert found.cases == 2 or found.failed == 1


# ---- times ---------------------------------------------------------------------------


@pytest.fixture
def trusted(monkeypatch):
    """This processor is shared by others while tests run: no audit of its clock."""
    monkeypatch.setattr(gpu_speed, "audit", lambda *_: "")


def speed_of(subject: Subject, **more):
    """The stopwatch on the pretended card."""
    case = next(iter(subject.operator.speed_cases().values()))
    clock = HostClock()
    return gpu_speed.check(
        subject, case, "forward", None, 1, PRETENDED, clock, tries=1, **more
    )


def test_a_time_has_a_ratio_to_pytorch_and_values_were_compared(on_a_card, trusted):
    found = speed_of(on_a_card(RIGHT), with_tf32=True)
    assert found.verdict in (Verdict.PASS, Verdict.NOISY), found
    assert found.ms > 0
    assert found.ratio and found.ratio.low <= found.ratio.value <= found.ratio.high
    assert set(found.others) == {"tf32"}
    assert 0 <= found.worst <= 1


class Queue:
    """What PyTorch's clock puts into the card's queue, in order."""

    def __init__(self, *, reached: bool) -> None:
        self.put: list[str] = []
        self.cuda, self.int8, self.device = self, "int8", str
        self.reached = reached  # whether the card is at the first event too early

    def _sleep(self, ticks: int) -> None:
        self.put.append(f"held for {ticks}")

    def is_available(self) -> bool:
        return True

    def zero_(self) -> None:
        self.put.append("flush")

    def record(self) -> None:
        self.put.append("event")

    def query(self) -> bool:
        self.put.append("asked")
        return self.reached

    def synchronize(self) -> None:
        self.put.append("wait")

    def elapsed_time(self, _: object) -> float:
        return 2.0  # milliseconds

    def Event(self, **_: object) -> Queue:
        return self

    def empty(self, *_: object, **__: object) -> Queue:
        return self


@pytest.mark.parametrize("reached", [False, True])
def test_the_card_is_held_until_pytorch_has_launched_all(monkeypatch, reached):
    queue = Queue(reached=reached)
    monkeypatch.setattr(gpu_speed, "torch", queue)
    clock = gpu_speed.EventClock(PRETENDED)
    held = gpu_speed.HELD
    for ticks in (held, 2 * held if reached else held):
        queue.put.clear()
        assert clock.time(lambda: queue.put.append("call")) == 2e-3
        around = ["event", "call", "event", "asked", "wait"]
        assert queue.put == ["wait", f"held for {ticks}", "flush", *around]


class Claims:
    """A student whose events say this share of what its calls take."""

    def __init__(self, call: float, *, share: float = 1.0, lucky: int = 0) -> None:
        self.call, self.share, self.lucky = call, share, lucky

    def repeated(self, times: int) -> tuple[float, float]:
        """Copies take 20 ms, and a flush 50 us."""
        self.lucky -= 1
        share = 0.1 if self.lucky >= 0 else self.share
        return times * share * self.call, 0.02 + times * (self.call + 50e-6)


@pytest.mark.parametrize(
    ("student", "claim", "words"),
    [
        pytest.param(Claims(1e-3), 1e-3, "", id="copies_and_flushes_are_subtracted"),
        pytest.param(
            Claims(1e-3, share=0.5), 0.5e-3, "0.5 ms by CUDA events", id="half"
        ),
        pytest.param(Claims(1e-3), 0.1e-3, "a single call takes 0.1 ms", id="a_tenth"),
        pytest.param(
            Claims(1e-3, lucky=2 * gpu_speed.AUDITS), 1e-3, "", id="has_to_come_back"
        ),
    ],
)
def test_an_audit_suspects_what_events_do_not_tell(student, claim, words):
    said = gpu_speed.audit(student, claim, 50e-6)
    assert words in said and bool(words) == bool(said)


def test_a_rung_that_is_wrong_when_it_is_timed_has_no_time(on_a_card):
    late = RIGHT.replace("extern", "static int calls;\n\nextern", 1)
    early = "    if (++calls > 3) return STATUS_OK;\n    if (COUNT == 0)"
    found = speed_of(on_a_card(late.replace("    if (COUNT == 0)", early)))
    assert found.verdict is Verdict.WRONG_VALUE
    assert "wrong when timed" in found.message


@pytest.fixture
def student(on_a_card) -> gpu_speed.OnCard:
    """A right rung, ready to be timed."""
    subject = on_a_card(RIGHT)
    case = next(iter(subject.operator.speed_cases().values()))
    data = gpu_speed.baseline.Data(subject.operator, case, 1, 1)
    made = gpu_speed.OnCard(subject, case, "forward", data)
    made.prepare()
    return made


def test_a_command_of_many_calls_has_events_around_each(student):
    claimed, wall = student.repeated(5)
    assert student.subject.worker("f32").reply.device_calls == 5
    assert 0 < claimed < wall


def test_an_event_that_says_nothing_is_suspect(student):
    student._plain &= ~Run.TIMED  # no events are taken
    with pytest.raises(Stopped, match="events measured 0 ms"):
        student.repeated(1)


@pytest.mark.parametrize(
    ("claim", "outside", "alone", "words"),
    [
        (1e-3, 1.05e-3, 1.1e-3, ""),
        (1e-3, 1.3e-3, 1e-3, ""),  # a quarter may be launches and gaps
        (1e-3, 2e-3, 1e-3, "work outside of ctx->stream"),
        (1e-3, 1e-3, 0.4e-3, "Was a clock changed"),
        (5e-6, 25e-6, 2e-6, ""),  # too short to tell
    ],
)
def test_claims_are_compared_with_the_clock_outside(claim, outside, alone, words):
    found = gpu_speed.implausible(claim, outside, alone)
    assert words in found and bool(words) == bool(found)


def test_products_of_pytorch_are_pinned_to_full_precision_and_given_back():
    import torch

    matmul = torch.backends.cuda.matmul
    cudnn: Any = torch.backends.cudnn
    before = matmul.allow_tf32, cudnn.allow_tf32
    with gpu_speed.precision(tf32=False):
        assert (matmul.allow_tf32, cudnn.allow_tf32) == (False, False)
        assert "tf32" not in (matmul.fp32_precision, cudnn.conv.fp32_precision)
    with gpu_speed.precision(tf32=True):
        assert matmul.fp32_precision == cudnn.conv.fp32_precision == "tf32"
    assert (matmul.allow_tf32, cudnn.allow_tf32) == before


def test_the_largest_case_is_timed_where_no_band_names_one():
    matmul = operators.get("matmul")
    assert on_gpu.timed_case(matmul, "").name == "m4096"
    assert on_gpu.timed_case(matmul, "m96").name == "m96"


# ---- what compute-sanitizer says -----------------------------------------------------


@pytest.fixture
def pretended_tool(tmp_path, monkeypatch):
    """A compute-sanitizer that reports a race, or runs the program and says nothing."""
    tool = tmp_path / "compute-sanitizer"
    tool.write_text(
        f"#!/bin/sh\nif [ $2 = racecheck ]; then cat {tmp_path}/report; exit 0; fi\n"
        'shift 6; exec "$@"\n'
    )
    (tmp_path / "report").write_text(RACE)
    tool.chmod(0o755)
    monkeypatch.setattr(compute_sanitizer, "find", lambda: str(tool))
    monkeypatch.setattr(sandbox, "level", lambda: "none")
    monkeypatch.setenv(compute_sanitizer.ENVIRONMENT, "open")


def test_the_tools_are_run_on_kept_cases(on_a_card, pretended_tool):
    subject = on_a_card(RIGHT)
    cases = subject.operator.cases(1)[:3]
    memory, races = compute_sanitizer.check(subject, cases, "forward", 1)
    assert (memory.name, memory.verdict) == ("gpu memory", Verdict.PASS), memory
    assert memory.cases == 3
    assert (races.name, races.verdict) == ("gpu races", Verdict.RACE)


# ---- walls ---------------------------------------------------------------------------


def test_there_is_no_gpu_where_it_is_switched_off(monkeypatch):
    monkeypatch.setenv(gpu_probe.ENVIRONMENT, "off")
    gpu_probe._asked.cache_clear()
    assert gpu_probe.card() is None and gpu_probe.ENVIRONMENT in gpu_probe.absent()
    gpu_probe._asked.cache_clear()


def test_words_of_a_report_name_the_card():
    answer = {"name": "H200", "architecture": "sm_90", "count": 1, "processors": 132}
    answer |= {"l2": 52428800, "memory": 150 << 30, "driver": 13000, "runtime": 13000}
    made = gpu_probe.card_of({**answer, "something": "new"})
    assert made.words == "H200 (sm_90, 132 multiprocessors, 150 GiB, CUDA 13.0)"


# ---- on a card -----------------------------------------------------------------------


@needs_gpu
def test_a_card_gives_the_same_results_as_cusim(tools):
    links = Links(judge=ALL_RIGHT)
    gpu_probe.build_tools()
    rung = rung_called("add/00_strided")
    subject = of_build(rung, links.build(rung, mode="gpu"))
    found = values_on_gpu.check(subject, subject.operator.cases(1), "forward", 1)
    subject.close()
    assert [result.verdict for result in found] == [Verdict.PASS] * 2, found
