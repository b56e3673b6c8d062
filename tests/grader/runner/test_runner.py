# SPDX-License-Identifier: MIT
"""The isolated runner: what reaches student code, what comes back, and who survives.

Small gelu rungs, one idea each, are run by the real worker at every sandbox level that
this machine has (tests/proofs/trust.py knows which). The words of the layers above are
tested in test_compare.py and test_faults.py.
"""

from __future__ import annotations

import ctypes
import itertools
import mmap
import os
import signal
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from grader import operators
from grader.checks import outcomes
from grader.course.foreign import clean
from grader.course.rungs import ROOT
from grader.operators.layouts import lay_out
from grader.runner.supervisor.call import Call, Output, Placement, Run
from grader.runner.supervisor.cores import cpu, pin
from grader.runner.supervisor.session import Outcome, Worker, core
from grader.runner.supervisor.wire import PHASE_LOADED, SIDE_TENSORS, SLOT_BYTES
from grader.verdicts import Verdict
from tests.grader.engine.test_grade import until
from tests.proofs.trust import at_level, descendants, levels, owned_by

GELU = operators.number("gelu")
NAMES = ["input", *[""] * 7, "output", *[""] * 7]
COPY = """for (int64_t i = 0; i < COUNT; i++) {
    y[i] = x[tensor_offset(input, input->ndim, i)];
}"""
PAGE = 4096
WORDS_BYTES = 16 * PAGE
FIVE = torch.ones(5)

every_level = pytest.mark.parametrize("level", levels())


def options(operator: str, **given: object) -> bytes:
    return operators.get(operator).signature.pack(given)


def gelu_call(input: torch.Tensor, **words: object) -> Call:
    """A call of gelu_forward, its output as large as its input."""
    room = [Output(tuple(input.shape), input.dtype)]
    packed = options("gelu")
    return Call(GELU, Run.FORWARD, [input], room, options=packed, **words)


@contextmanager
def worker_of(library: Path, level: str, *, op: int = GELU) -> Iterator[Worker]:
    """A worker at a level, ready for its first call."""
    with at_level(level), Worker.for_library(library, library, op) as worker:
        assert worker.wait_ready() is Outcome.RETURNED, worker.output
        yield worker


@dataclass(frozen=True)
class Ran:
    """A call that was made, and what the layers above would say of it."""

    call: Call
    outcome: Outcome
    found: outcomes.Finding | None
    signal: int

    @property
    def values(self) -> list[float]:
        """The output's elements; the call has to have returned."""
        assert self.outcome is Outcome.RETURNED, self.found
        return self.call.tensors[0].flatten().tolist()


@pytest.fixture
def ran(compile_gelu) -> Callable[..., Ran]:
    """Runs the statements of a gelu_forward once, on five ones if nothing is said."""

    def once(
        body: str,
        input: torch.Tensor = FIVE,
        *,
        level: str = levels()[0],
        dtype: str = "f32",
        before: str = "",
        **words: object,
    ) -> Ran:
        built = compile_gelu(body, before=before)
        call = gelu_call(input, **words)
        with worker_of(built[dtype], level) as worker:
            outcome = worker.run(call)
            if outcome is Outcome.RETURNED:
                return Ran(call, outcome, outcomes.of_status(worker, "case"), 0)
            found = outcomes.of_outcome(worker, outcome, "case", NAMES, 2.0)
            return Ran(call, outcome, found, worker.death.signal)

    return once


# ---- what reaches the rung -----------------------------------------------------------


@every_level
def test_values_arrive_through_views_of_any_strides(compile_gelu, level):
    layouts = ("transposed", "reversed", "channels_last", "gaps", "broadcast", "scalar")
    dense = torch.arange(2 * 3 * 4 * 5.0).reshape(2, 3, 4, 5)
    with worker_of(compile_gelu(COPY)["f32"], level) as worker:
        for layout in layouts:
            input = lay_out(dense, layout)
            call = gelu_call(input)
            assert worker.run(call) is Outcome.RETURNED
            assert torch.equal(call.tensors[0], input), layout


TOLD = """y[0] = (real)input->ndim, y[1] = (real)input->dtype;
    for (int i = 0; i < 2; i++) y[2 + i] = (real)input->size[i];
    for (int i = 0; i < 2; i++) y[4 + i] = (real)input->stride[i];"""
APART = """char *s = ctx_scratch(ctx, 64), *t = ctx_scratch(ctx, 64);
    y[0] = (real)(s + 64 <= t || t + 64 <= s);"""


@pytest.mark.parametrize(
    ("body", "input", "values"),
    [
        pytest.param(TOLD, torch.zeros(5, 3).T, [2, 2, 3, 5, 1, 3], id="told_of_input"),
        pytest.param(COPY, torch.tensor(2.5), [2.5], id="a_number_without_axes"),
        pytest.param(COPY, torch.zeros(0), [], id="no_elements"),
        pytest.param(COPY, torch.zeros(3, 0), [], id="no_columns"),
        pytest.param(COPY, torch.zeros(0, 3), [], id="no_rows"),
        pytest.param(APART, torch.ones(1), [1], id="blocks_of_scratch_lie_apart"),
    ],
)
def test_a_rung_is_run_and_its_output_comes_back(ran, body, input, values):
    done = ran(body, input)
    assert done.values[: len(values)] == values
    assert done.call.tensors[0].shape == input.shape


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_each_dtype_has_a_library_of_its_own(ran, dtype):
    kind = {"f32": torch.float32, "f64": torch.float64}[dtype]
    input = torch.tensor([1 / 3, 1e-3], dtype=kind)
    assert ran(COPY, input, dtype=dtype).values == input.tolist()


LINEAR = """#include "operators.h"
status_t linear_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                        const tensor_t *bias, tensor_t *output)
{
    (void)ctx, (void)input, (void)weight;
    *real_data(output) = (real)(bias ? 2 : 1);
    return STATUS_OK;
}
"""


@pytest.mark.parametrize(("bias", "answer"), [(None, 1), (torch.ones(1), 2)])
def test_an_absent_input_is_null(compile_rung, bias, answer):
    op = operators.number("linear")
    with worker_of(compile_rung(LINEAR)["f32"], levels()[0], op=op) as worker:
        one = torch.ones(1, 1)
        call = Call(op, Run.FORWARD, [one, one, bias], [Output((1, 1), one.dtype)])
        assert worker.run(call) is Outcome.RETURNED
    assert call.tensors[0].item() == answer


LAYER_NORM = """#include "operators.h"
status_t layer_norm_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                            const tensor_t *bias, layer_norm_params_t p,
                            tensor_t *output, tensor_t *mean, tensor_t *rstd)
{
    (void)ctx, (void)input, (void)weight, (void)bias;
    real_data(output)[0] = real_data(output)[1] = (real)p.eps;
    if (mean) *(accum *)mean->data = 3;
    if (rstd) *(accum *)rstd->data = 4;
    return STATUS_OK;
}
"""


@pytest.mark.parametrize("kept", [True, False])
def test_saved_tensors_come_back_and_may_be_null(compile_rung, kept):
    op = operators.number("layer_norm")
    row = torch.ones(1, 2)
    one = Output((1,), torch.float32) if kept else None
    room = [Output((1, 2), torch.float32), one, one]
    packed = options("layer_norm", eps=0.5)
    with worker_of(compile_rung(LAYER_NORM)["f32"], levels()[0], op=op) as worker:
        call = Call(op, Run.FORWARD, [row, None, None], room, options=packed)
        assert worker.run(call) is Outcome.RETURNED
    assert call.tensors[0].flatten().tolist() == [0.5, 0.5]
    saved = [tensor.item() if kept else tensor for tensor in call.tensors[1:]]
    assert saved == ([3, 4] if kept else [None, None])


def test_several_calls_in_one_get_inputs_and_outputs_of_their_own(compile_gelu):
    values = torch.arange(6.0).reshape(3, 2)
    with worker_of(compile_gelu(COPY)["f32"], levels()[0]) as worker:
        call = gelu_call(values[0], copies=3)
        call.set_input(0, values)
        assert worker.run(call) is Outcome.RETURNED
    assert torch.equal(call.tensors[0], values)


def test_a_tensor_larger_than_a_slot_is_refused_and_nothing_runs(compile_gelu):
    with worker_of(compile_gelu(COPY)["f32"], levels()[0]) as worker:
        input = torch.zeros(1).expand(SLOT_BYTES // 4 + 1)
        assert worker.run(gelu_call(input)) is Outcome.TOO_LARGE
        assert worker.reply.phase == PHASE_LOADED


def test_a_matrix_of_4096_by_4096_floats_fits_into_a_slot(compile_gelu):
    input = torch.arange(4096.0).repeat(4096, 1)
    body = "for (int64_t i = 0; i < COUNT; i++) y[i] = x[i];"
    with worker_of(compile_gelu(body)["f32"], levels()[0]) as worker:
        for placement in Placement:
            call = gelu_call(input, placement=placement, deadline=60)
            assert worker.run(call) is Outcome.RETURNED
            assert torch.equal(call.tensors[0], input)


def test_a_case_that_is_kept_takes_no_memory_for_what_nobody_wrote(
    compile_gelu, tmp_path
):
    with worker_of(compile_gelu(COPY)["f32"], levels()[0]) as worker:
        call = gelu_call(FIVE)
        assert worker.run(call) is Outcome.RETURNED
        shared = list(descriptors(worker._session))[:2]
        before = [os.fstat(memory).st_blocks for memory in shared]
        files = worker.save(call, tmp_path)
        after = [os.fstat(memory).st_blocks for memory in shared]
        assert sum(after) <= sum(before) + 64  # of 512 bytes: the output's other bank
        for file, memory in zip(files, shared):
            assert file.stat().st_size == os.fstat(memory).st_size
        with files[0].open("rb") as kept:
            kept.seek(WORDS_BYTES + worker.command.tensor[0].offset)
            assert kept.read(20) == FIVE.numpy().tobytes()


def test_arguments_that_the_contract_forbids_never_reach_the_rung(compile_gelu):
    """A mistake of the grader's: the argument check stands in the worker too."""
    with worker_of(compile_gelu(COPY)["f32"], levels()[0]) as worker:
        room = [Output((7,), torch.float32)]
        packed = options("gelu")
        call = Call(GELU, Run.FORWARD, [torch.ones(3)], room, options=packed)
        assert worker.run(call) is Outcome.RETURNED
        found = outcomes.of_status(worker, "case")
    assert "refused the arguments: gelu: 'output' must be (3)" in found.message


def test_a_message_of_the_rung_is_cleaned_before_it_is_shown():
    assert clean(b"\x1b[2Jgone\x00after") == "?[2Jgone"


# ---- guard pages ---------------------------------------------------------------------


LEFT = {"placement": Placement.LEFT}


@every_level
@pytest.mark.parametrize(
    ("body", "words", "sentence"),
    [
        ("y[0] = x[COUNT];", {}, "reads right past the end of 'input'"),
        ("y[0] = x[COUNT + 3];", {}, "reads 12 bytes past the end of 'input'"),
        ("y[COUNT] = 1;", {}, "writes right past the end of 'output'"),
        ("((real *)x)[1] = 1;", {}, "writes to 'input': inputs are read-only"),
        ("y[0] = x[-2];", LEFT, "reads 8 bytes before the start of 'input'"),
    ],
)
def test_an_access_outside_is_named_with_tensor_and_distance(
    ran, level, body, words, sentence
):
    found = ran(body, level=level, **words).found
    assert (found.verdict, found.message) == (Verdict.MEMORY_ERROR, sentence)


def test_the_line_of_a_fault_is_found(ran):
    found = ran("\n    volatile real *nowhere = NULL;\n    *nowhere = 1;").found
    assert found.location.endswith("rung0.c:12")
    assert "used a NULL pointer" in found.message


def test_a_write_before_an_output_and_unwritten_elements_are_seen_without_a_fault(ran):
    side = ran(COPY + "y[-3] = 1;").call.request.side[SIDE_TENSORS]
    assert side.fence == 12
    side = ran("y[0] = y[2] = 1;").call.request.side[SIDE_TENSORS]
    assert (side.unwritten, side.first_unwritten) == (3, 1)


def test_the_next_case_finds_nothing_of_the_last_ones_output(compile_gelu):
    body = "for (int64_t i = 0; i < COUNT; i++) y[i] = isnan(y[i]) ? 1 : 2;"
    with worker_of(compile_gelu(body)["f32"], levels()[0]) as worker:
        for _ in range(4):
            call = gelu_call(torch.ones(5))
            worker.run(call)
            assert call.tensors[0].tolist() == [1] * 5


# ---- scratch -------------------------------------------------------------------------


@pytest.mark.parametrize("bytes", [1, 40, 64, 100, 4096, 5000])
def test_scratch_can_be_used_to_its_last_byte(ran, bytes):
    body = f"""volatile char *s = ctx_scratch(ctx, {bytes});
    for (int i = 0; i < {bytes}; i++) s[i] = 1;
    y[0] = (real)((uintptr_t)s % 64);"""
    done = ran(body, torch.ones(1))
    assert (done.values, done.found) == ([0], None)  # aligned to 64


@every_level
def test_an_access_beyond_scratch_faults(ran, level):
    body = "volatile char *s = ctx_scratch(ctx, 128); s[128] = 1;"
    done = ran(body, level=level)
    assert (done.outcome, done.signal) == (Outcome.DIED, signal.SIGSEGV)


def test_a_write_into_the_padding_of_scratch_is_found(ran):
    found = ran("volatile char *s = ctx_scratch(ctx, 100); s[100] = 1;" + COPY).found
    assert found.verdict is Verdict.MEMORY_ERROR
    assert "past the end of a block from ctx_scratch" in found.message


def test_scratch_of_the_last_call_is_gone(compile_gelu):
    body = """if (kept) y[0] = *kept;
    kept = ctx_scratch(ctx, 64);
    *kept = y[0] = 1;"""
    built = compile_gelu(body, before="static real *volatile kept;")
    with worker_of(built["f32"], levels()[0]) as worker:
        assert worker.run(gelu_call(torch.ones(1))) is Outcome.RETURNED
        assert worker.run(gelu_call(torch.ones(1))) is Outcome.DIED
        assert worker.death.signal == signal.SIGSEGV


# ---- frozen is frozen ----------------------------------------------------------------

SPIN = """#include <pthread.h>
static volatile real *counter;
static void *spin(void *unused)
{
    for (;;) *counter = *counter + 1;
    return unused;
}
"""
START = """static pthread_t thread;
    counter = y, y[0] = 0;
    pthread_create(&thread, NULL, spin, NULL);"""


def descriptors(session: object) -> ctypes.Array[ctypes.c_int]:
    """Of a session's shared memories and events."""
    numbers = (ctypes.c_int * 4)()
    core().session_descriptors(session, numbers)
    return numbers


@contextmanager
def shared_output(worker: Worker) -> Iterator[mmap.mmap]:
    """The supervisor's side of the worker's OUT memory."""
    numbers = descriptors(worker._session)
    size = WORDS_BYTES + 2 * SIDE_TENSORS * SLOT_BYTES
    with mmap.mmap(numbers[1], size, prot=mmap.PROT_READ) as memory:
        yield memory


def counter_in(memory: mmap.mmap, worker: Worker) -> float:
    """The first element of output 0, as it is now."""
    at = worker.command.tensor[SIDE_TENSORS]
    slot = at.bank * SIDE_TENSORS + at.slot
    where = WORDS_BYTES + slot * SLOT_BYTES + at.offset
    return struct.unpack_from("d", memory, where)[0]


@every_level
def test_a_thread_that_spins_on_stands_still_while_frozen(compile_gelu, level):
    large = torch.ones(1 << 18, dtype=torch.float64)  # is not poisoned anew when taken
    with worker_of(compile_gelu(START, before=SPIN)["f64"], level) as worker:
        call = gelu_call(large)
        assert worker.run(call) is Outcome.RETURNED
        assert worker.state == "T"
        with shared_output(worker) as memory:
            seen = {counter_in(memory, worker) for _ in range(20_000)}
            assert len(seen) == 1

            def moved() -> bool:  # it is alive, as soon as it gets a core
                worker.look_again(call, 0, milliseconds=20)
                return counter_in(memory, worker) > max(seen)

            assert until(moved, seconds=30)


def test_a_write_after_the_return_is_noticed_two_cases_later(compile_gelu):
    built = compile_gelu(f"if (!counter) {{ {START} }}" + COPY, before=SPIN)
    with worker_of(built["f32"], levels()[0]) as worker:
        late = [False]
        while not late[-1] and len(late) < 100:  # the thread may wait for a core
            call = gelu_call(torch.ones(1))
            worker.run(call)
            late.append(bool(call.request.late))
    assert late[-1] and len(late) > 3  # the memory of a case is taken again two later


def test_a_rung_that_stops_itself_times_out(ran):
    done = ran("raise(SIGSTOP);", before="#include <signal.h>", deadline=1.0)
    assert done.outcome is Outcome.TIMEOUT
    assert "it had stopped itself" in done.found.message


def test_a_bell_rung_early_by_student_code_ends_nobodys_wait(compile_gelu):
    """It writes to every descriptor: `done` then says ready before anything is."""
    body = """const uint64_t one = 1;
    for (int fd = 3; fd < 64; fd++) if (write(fd, &one, 8) < 0) continue;
    y[0] = 1;"""
    slow = "for (volatile int i = 0; i < 10000000; i++) continue;\n    y[0] = 1;"
    built = compile_gelu(
        f"if (COUNT == 1) {{ {body} }} else {{ {slow} }}",
        before="#include <unistd.h>",
    )
    with worker_of(built["f32"], levels()[0]) as worker:
        early = gelu_call(torch.ones(1))
        worker.run(early)
        worker.look_again(early, 0, milliseconds=20)  # it comes to its end
        call = gelu_call(torch.ones(2))
        assert worker.run(call) is Outcome.RETURNED
        assert call.tensors[0][0].item() == 1


# ---- what student code cannot reach --------------------------------------------------

REACH = """#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
"""


MEMORY = """const int owner = atoi(getenv("CONVLAB_OWNER"));
    char path[64], byte = 0;
    snprintf(path, sizeof path, "/proc/%d/mem", owner);
    struct iovec here = {&byte, 1}, there = {path, 1};
    y[0] = open(path, O_RDONLY) >= 0;
    y[1] = process_vm_readv(owner, &here, 1, &there, 1, 0) >= 0 || errno == EFAULT;
    y[2] = ptrace(PTRACE_SEIZE, owner, NULL, NULL) == 0;
    y[3] = syscall(434, owner, 0) >= 0;  // pidfd_open
    y[4] = kill(owner, 0) == 0;"""
DESCRIPTORS = """y[0] = y[1] = y[2] = y[3] = y[4] = 0;
    for (int fd = 0; fd < 32; fd++) {
        char path[64];
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        y[0] += ftruncate(fd, 0) == 0;
        y[1] += open(path, O_RDWR) >= 0;
        void *window = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        y[2] += window != MAP_FAILED;
    }"""


@every_level
@pytest.mark.parametrize(
    "body", [MEMORY, DESCRIPTORS], ids=["its_memory", "descriptors_of_the_shared_one"]
)
def test_nothing_of_the_supervisor_can_be_reached(ran, level, body):
    done = ran(body, level=level, before=REACH + "#include <signal.h>\n")
    assert done.values == [0] * 5


def test_nobody_can_resize_a_shared_memory_or_write_to_the_inputs(compile_gelu):
    with worker_of(compile_gelu(COPY)["f32"], levels()[0]) as worker:
        numbers = descriptors(worker._session)
        for side, size in itertools.product((0, 1), (0, 1 << 40)):
            with pytest.raises(PermissionError):
                os.ftruncate(numbers[side], size)
        with pytest.raises(PermissionError):
            os.pwrite(numbers[0], b"x", 0)
        with pytest.raises(PermissionError):
            mmap.mmap(numbers[0], PAGE, prot=mmap.PROT_READ | mmap.PROT_WRITE)


# ---- nobody is left behind -----------------------------------------------------------


@every_level
@pytest.mark.parametrize(
    "body",
    [
        COPY,
        "for (;;) continue;",
        "raise(SIGSTOP);",
        "raise(SIGKILL);",
        "_exit(0);",
        "sigset_t all; sigfillset(&all); sigprocmask(SIG_BLOCK, &all, NULL); for (;;);",
    ],
    ids=["returns", "spins", "stops", "is_killed", "exits", "blocks_signals"],
)
def test_no_process_is_left_when_a_worker_has_ended(ran, level, body):
    before = descendants()
    ran(
        body,
        level=level,
        before="#include <signal.h>\n#include <unistd.h>",
        deadline=0.1,
    )
    assert descendants() == before


ORPHAN = """
import sys, time
from pathlib import Path
from grader.runner.supervisor.session import Worker
library = Path(sys.argv[1])
workers = [Worker.for_library(library, library, 6) for _ in range(2)]
if sys.argv[2] == "python":
    workers.append(Worker.for_python())
for worker in workers:
    worker.wait_ready()
print("ready", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize(
    ("level", "kind"),
    [*((level, "c") for level in levels()), (levels()[0], "python")],
)
def test_workers_die_with_a_supervisor_that_is_killed(compile_gelu, level, kind):
    """One of them is frozen at that moment, as most are."""
    path = f"{ROOT}:{ROOT}/common/python"
    library = str(compile_gelu(COPY)["f32"])
    supervisor = subprocess.Popen(
        [sys.executable, "-c", ORPHAN, library, kind],
        env={**os.environ, "PYTHONPATH": path, "CONVLAB_SANDBOX": level},
        stdout=subprocess.PIPE,
    )
    assert supervisor.stdout.readline() == b"ready\n"
    workers = owned_by(supervisor.pid)
    assert len(workers) >= (3 if kind == "python" else 2)
    os.kill(max(workers), signal.SIGSTOP)
    supervisor.kill()
    supervisor.wait()
    supervisor.stdout.close()
    assert until(lambda: not owned_by(supervisor.pid), seconds=30)


def test_a_worker_whose_supervisor_died_before_it_began_ends(compile_gelu, tools):
    """The kernel's signal at a parent's death does not come for one that is dead."""
    library = str(compile_gelu(COPY)["f32"])
    session = core().session_open()
    numbers = descriptors(session)
    read, write = os.pipe()
    os.close(read)
    words = [str(tools / "worker"), library, library, *map(str, numbers), "none"]
    worker = subprocess.Popen(words, stdout=write, pass_fds=list(numbers))
    os.close(write)
    try:
        assert worker.wait(timeout=60) == 3
    finally:
        worker.kill()
        core().session_close(session)


# ---- cores ---------------------------------------------------------------------------


def test_a_worker_has_as_many_cores_as_threads_were_asked_for(compile_gelu):
    cpu()  # notes the cores this process has, if nobody did before
    before = os.sched_getaffinity(0)
    try:
        pin(2)
        both = os.sched_getaffinity(0)
        with worker_of(compile_gelu(COPY)["f32"], "none") as worker:
            assert worker.process
            assert os.sched_getaffinity(worker.process.pid) == both
            assert os.sched_getaffinity(0) == both
        pin(1)
        assert os.sched_getaffinity(0) == {cpu()}
    finally:
        os.sched_setaffinity(0, before)
