# SPDX-License-Identifier: MIT
"""The isolated runner: what reaches student code, what comes back, and who survives.

Small gelu rungs, one idea each, are run by the real worker at every sandbox level that
this machine has (tests/proofs/trust.py knows which). The words of the layers above are
tested in test_compare.py and test_faults.py.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from grader import operators
from grader.checks import outcomes
from grader.course.rungs import ROOT
from grader.operators.layouts import lay_out
from grader.runner.supervisor.call import Call, Output, Placement, Run
from grader.runner.supervisor.session import Outcome, Worker, clean, core, cpu, pin
from grader.runner.supervisor.wire import PHASE_LOADED, SIDE_TENSORS, SLOT_BYTES
from grader.verdicts import Verdict
from tests.proofs.trust import at_level, descendants, levels, owned_by

GELU = operators.number("gelu")
NAMES = ["input", *[""] * 7, "output", *[""] * 7]
COPY = """for (int64_t i = 0; i < COUNT; i++) {
    y[i] = x[tensor_offset(input, input->ndim, i)];
}"""
PAGE = 4096
WORDS_BYTES = 16 * PAGE

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


def explained(worker: Worker, outcome: Outcome) -> outcomes.Finding:
    return outcomes.of_outcome(worker, outcome, "case", NAMES, 2.0)


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


def test_the_rung_is_told_sizes_strides_and_dtype(compile_gelu):
    body = """y[0] = (real)input->ndim, y[1] = (real)input->dtype;
    for (int i = 0; i < 2; i++) y[2 + i] = (real)input->size[i];
    for (int i = 0; i < 2; i++) y[4 + i] = (real)input->stride[i];"""
    input = torch.zeros(5, 3).T
    with worker_of(compile_gelu(body)["f32"], levels()[0]) as worker:
        call = gelu_call(input)
        worker.run(call)
    assert call.tensors[0].flatten()[:6].tolist() == [2, 2, 3, 5, 1, 3]


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_each_dtype_has_a_library_of_its_own(compile_gelu, dtype):
    kind = {"f32": torch.float32, "f64": torch.float64}[dtype]
    input = torch.tensor([1 / 3, 1e-3], dtype=kind)
    with worker_of(compile_gelu(COPY)[dtype], levels()[0]) as worker:
        call = gelu_call(input)
        worker.run(call)
    assert torch.equal(call.tensors[0], input)


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3)])
def test_tensors_without_elements_can_be_run(compile_gelu, shape):
    with worker_of(compile_gelu(COPY)["f32"], levels()[0]) as worker:
        call = gelu_call(torch.zeros(shape))
        assert worker.run(call) is Outcome.RETURNED
    assert call.tensors[0].shape == shape


def test_a_number_without_axes_can_be_run(compile_gelu):
    with worker_of(compile_gelu(COPY)["f32"], levels()[0]) as worker:
        call = gelu_call(torch.tensor(2.5))
        worker.run(call)
    assert call.tensors[0].item() == 2.5


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


def test_arguments_that_the_contract_forbids_never_reach_the_rung(compile_gelu):
    """A mistake of the grader's: the check at the door stands in the worker too."""
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


@every_level
@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("y[0] = x[COUNT];", "reads right past the end of 'input'"),
        ("y[0] = x[COUNT + 3];", "reads 12 bytes past the end of 'input'"),
        ("y[COUNT] = 1;", "writes right past the end of 'output'"),
        ("((real *)x)[1] = 1;", "writes to 'input': an input, which is read-only"),
    ],
)
def test_an_access_outside_is_named_with_tensor_and_distance(
    compile_gelu, level, body, sentence
):
    with worker_of(compile_gelu(body)["f32"], level) as worker:
        outcome = worker.run(gelu_call(torch.ones(5)))
        found = explained(worker, outcome)
    assert (found.verdict, found.message) == (Verdict.MEMORY_ERROR, sentence)


def test_a_tensor_placed_left_is_guarded_at_its_start(compile_gelu):
    with worker_of(compile_gelu("y[0] = x[-2];")["f32"], levels()[0]) as worker:
        outcome = worker.run(gelu_call(torch.ones(5), placement=Placement.LEFT))
        found = explained(worker, outcome)
    assert found.message == "reads 8 bytes before the start of 'input'"


def test_the_line_of_a_fault_is_found(compile_gelu):
    body = "\n    volatile real *nowhere = NULL;\n    *nowhere = 1;"
    with worker_of(compile_gelu(body)["f32"], levels()[0]) as worker:
        found = explained(worker, worker.run(gelu_call(torch.ones(2))))
    assert found.location.endswith("rung0.c:12")
    assert "used a NULL pointer" in found.message


def test_a_write_before_an_output_is_seen_without_a_fault(compile_gelu):
    with worker_of(compile_gelu(COPY + "y[-3] = 1;")["f32"], levels()[0]) as worker:
        call = gelu_call(torch.ones(5))
        assert worker.run(call) is Outcome.RETURNED
    assert call.request.side[SIDE_TENSORS].fence == 12


def test_an_unwritten_element_is_counted(compile_gelu):
    with worker_of(compile_gelu("y[0] = y[2] = 1;")["f32"], levels()[0]) as worker:
        call = gelu_call(torch.ones(5))
        worker.run(call)
    side = call.request.side[SIDE_TENSORS]
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
def test_scratch_can_be_used_to_its_last_byte(compile_gelu, bytes):
    body = f"""volatile char *s = ctx_scratch(ctx, {bytes});
    for (int i = 0; i < {bytes}; i++) s[i] = 1;
    y[0] = (real)((uintptr_t)s % 64);"""
    with worker_of(compile_gelu(body)["f32"], levels()[0]) as worker:
        call = gelu_call(torch.ones(1))
        assert worker.run(call) is Outcome.RETURNED
        assert outcomes.of_status(worker, "case") is None
    assert call.tensors[0].item() == 0  # aligned to 64


@every_level
def test_an_access_beyond_scratch_faults(compile_gelu, level):
    body = "volatile char *s = ctx_scratch(ctx, 128); s[128] = 1;"
    with worker_of(compile_gelu(body)["f32"], level) as worker:
        assert worker.run(gelu_call(torch.ones(1))) is Outcome.DIED
        assert worker.death.signal == signal.SIGSEGV


def test_a_write_into_the_padding_of_scratch_is_found(compile_gelu):
    body = "volatile char *s = ctx_scratch(ctx, 100); s[100] = 1;" + COPY
    with worker_of(compile_gelu(body)["f32"], levels()[0]) as worker:
        assert worker.run(gelu_call(torch.ones(1))) is Outcome.RETURNED
        found = outcomes.of_status(worker, "case")
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


def test_blocks_of_scratch_lie_apart(compile_gelu):
    body = """char *s = ctx_scratch(ctx, 64), *t = ctx_scratch(ctx, 64);
    y[0] = (real)(s + 64 <= t || t + 64 <= s);"""
    with worker_of(compile_gelu(body)["f32"], levels()[0]) as worker:
        call = gelu_call(torch.ones(1))
        worker.run(call)
    assert call.tensors[0].item() == 1


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


@contextmanager
def shared_output(worker: Worker) -> Iterator[mmap.mmap]:
    """The supervisor's side of the worker's OUT memory."""
    numbers = (ctypes.c_int * 4)()
    core().session_descriptors(worker._session, numbers)
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


def test_a_rung_that_stops_itself_times_out(compile_gelu):
    built = compile_gelu("raise(SIGSTOP);", before="#include <signal.h>")
    with worker_of(built["f32"], levels()[0]) as worker:
        outcome = worker.run(gelu_call(torch.ones(1), deadline=1.0))
        assert outcome is Outcome.TIMEOUT
        assert "it had stopped itself" in explained(worker, outcome).message


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


@every_level
def test_the_supervisors_memory_cannot_be_reached(compile_gelu, level):
    body = """const int owner = atoi(getenv("CONVLAB_OWNER"));
    char path[64], byte = 0;
    snprintf(path, sizeof path, "/proc/%d/mem", owner);
    struct iovec here = {&byte, 1}, there = {path, 1};
    y[0] = open(path, O_RDONLY) >= 0;
    y[1] = process_vm_readv(owner, &here, 1, &there, 1, 0) >= 0 || errno == EFAULT;
    y[2] = ptrace(PTRACE_SEIZE, owner, NULL, NULL) == 0;
    y[3] = syscall(434, owner, 0) >= 0;  // pidfd_open
    y[4] = kill(owner, 0) == 0;"""
    built = compile_gelu(body, before=REACH + "#include <signal.h>\n")
    with worker_of(built["f32"], level) as worker:
        call = gelu_call(torch.ones(5))
        assert worker.run(call) is Outcome.RETURNED
    assert call.tensors[0].tolist() == [0] * 5


@every_level
def test_the_shared_memories_descriptors_are_closed(compile_gelu, level):
    body = """for (int fd = 0; fd < 32; fd++) {
        char path[64];
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        y[0] += ftruncate(fd, 0) == 0;
        y[1] += open(path, O_RDWR) >= 0;
        void *window = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        y[2] += window != MAP_FAILED;
    }"""
    zeroed = "y[0] = y[1] = y[2] = 0;" + body
    with worker_of(compile_gelu(zeroed, before=REACH)["f32"], level) as worker:
        call = gelu_call(torch.ones(3))
        assert worker.run(call) is Outcome.RETURNED
    assert call.tensors[0].tolist() == [0, 0, 0]


@pytest.mark.parametrize("side", [0, 1])
def test_nobody_can_change_the_size_of_a_shared_memory(compile_gelu, side):
    with worker_of(compile_gelu(COPY)["f32"], levels()[0]) as worker:
        numbers = (ctypes.c_int * 4)()
        core().session_descriptors(worker._session, numbers)
        for size in (0, 1 << 40):
            with pytest.raises(PermissionError):
                os.ftruncate(numbers[side], size)


def test_nobody_else_can_write_to_the_inputs(compile_gelu):
    with worker_of(compile_gelu(COPY)["f32"], levels()[0]) as worker:
        numbers = (ctypes.c_int * 4)()
        core().session_descriptors(worker._session, numbers)
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
def test_no_process_is_left_when_a_worker_has_ended(compile_gelu, level, body):
    before = descendants()
    built = compile_gelu(body, before="#include <signal.h>\n#include <unistd.h>")
    with worker_of(built["f32"], level) as worker:
        worker.run(gelu_call(torch.ones(1), deadline=0.1))
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


def until(condition, *, seconds: float) -> bool:
    """Whether the condition comes true in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.01)
    return bool(condition())


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
    session, numbers = core().session_open(), (ctypes.c_int * 4)()
    core().session_descriptors(session, numbers)
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
