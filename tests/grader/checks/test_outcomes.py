# SPDX-License-Identifier: MIT
"""What a crash and PyTorch's own errors are turned into: a sentence that helps."""

from __future__ import annotations

import signal
from types import SimpleNamespace

import pytest
from cusim import report as cusim

from grader.checks import outcomes
from grader.checks.cuda import cusim_report
from grader.checks.gates import contract
from grader.checks.memory import sanitizer_report
from grader.course.rungs import ROOT
from grader.runner.supervisor import wire
from grader.runner.supervisor.gate_events import Event
from grader.runner.supervisor.session import Outcome
from grader.runner.supervisor.tools_session import Answer, Tools
from grader.runner.worker.student_package import advice
from grader.verdicts import Verdict

NO_KERNEL = """Could not run 'convlab::add_backward' with arguments from the 'CPU'
backend. This could be because the operator doesn't exist for this backend.
AutogradCPU: registered at core/VariableFallbackKernel.cpp:38 [autograd kernel]"""


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (NO_KERNEL, "no kernel for the CPU: register one with m.impl"),
        (
            "convlab::add() expected at most 2 argument(s) but received 3",
            "m.def in C++",
        ),
        ("convlab::add() is missing value for argument 'alpha'", "m.def in C++"),
        (
            "convlab::add() Expected a value of type 'int' for argument 'alpha' but",
            "the operator's schema",
        ),
        ("convlab::add: no autograd formula was registered", "pass them to `register`"),
        ("something else went wrong", ""),
    ],
)
def test_errors_of_pytorch_are_told_with_what_to_do(said, words):
    found = advice(RuntimeError(said))
    assert words in found and bool(words) == bool(found)


@pytest.mark.parametrize(
    ("output", "words"),
    [
        (
            b"terminate called after throwing an instance of 'c10::Error'\n"
            b"  what():  \ndouble is not a valid type: use float:\nmore\n",
            "SIGABRT: aborted itself: double is not a valid type: use float",
        ),
        (
            b"python: a.c:7: f: Assertion `n > 0' failed.\n",
            "SIGABRT: aborted itself: Assertion `n > 0' failed",
        ),
        (b"a word on the way\n", "SIGABRT: aborted itself"),
        (b"what():  " + b"x" * 9999, "SIGABRT: aborted itself: " + "x" * 296 + " ..."),
    ],
)
def test_an_abort_tells_its_last_words(output, words):
    worker = SimpleNamespace(
        output=output,
        death=SimpleNamespace(signal=signal.SIGABRT),
        reply=SimpleNamespace(),
        faulted=True,
    )
    assert outcomes._signal(worker) == words


# ---- what a worker says is never the grader's fault ----------------------------------

GIVEN = {"c": ("worker", "worker-asan", "worker-cuda-run"), "python": ("",)}


@pytest.mark.parametrize(
    ("kind", "program"), [(k, program) for k in GIVEN for program in GIVEN[k]]
)
def test_no_status_of_a_worker_is_the_graders_fault(kind, program):
    """24 and 25 are written on a device alone, 17 in Python alone."""
    lost = {}
    for status in range(-1, 40):
        reply = SimpleNamespace(status=status)
        worker = SimpleNamespace(kind=kind, program=program, reply=reply, message="")
        found = outcomes.of_status(worker, "small")
        assert status == wire.STATUS_OK or not found.verdict.pending, status
        lost[status] = outcomes.is_lost(worker)
    assert lost[wire.REPLY_DEVICE] and lost[39]
    assert lost[wire.REPLY_WROTE_INPUT] is (program != "worker-cuda-run")
    assert lost[wire.REPLY_EXCEPTION] is (kind != "python")


@pytest.mark.parametrize(
    ("state", "words"), [("D", "waits for a disk"), ("R", "calls")]
)
def test_a_worker_that_cannot_be_stopped_is_not_the_graders_fault(state, words):
    worker = SimpleNamespace(state=state)
    found = outcomes.of_outcome(worker, Outcome.NOT_FROZEN, "small", [], 1.0)
    assert found.verdict is Verdict.TIMEOUT and words in found.message


def test_a_process_of_lab_05_cannot_say_that_the_grader_failed(monkeypatch, tmp_path):
    began = Event("begin", "start")  # as if nothing of theirs had run
    for events in ([Event("done", kind="died")], [began]):
        tools = Tools(tmp_path, tmp_path)
        monkeypatch.setattr(tools, "_start", lambda *_: None)
        monkeypatch.setattr(tools, "_events", lambda _, t=events: iter(t))
        monkeypatch.setattr(tools, "_why", lambda _: Answer("died"))
        found = tools.run(["vmap"], lambda *_: None)
        assert found["vmap"].kind == "died"


def test_a_gate_is_skipped_only_where_its_packages_are_missing(monkeypatch):
    monkeypatch.setenv("CI", "")
    assert contract.skipped("onnx") is Verdict.WRONG_CONTRACT  # they are here
    monkeypatch.setattr(contract, "NEEDS", {"onnx": ("no_such_package",)})
    assert contract.skipped("onnx") is Verdict.SKIPPED
    assert contract.skipped("vmap") is Verdict.WRONG_CONTRACT
    monkeypatch.setenv("CI", "true")
    assert contract.skipped("onnx") is Verdict.WRONG_CONTRACT


# ---- what cusim says of a tensor -----------------------------------------------------


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (
            "0 bytes past the end of the 16 bytes allocated in tensor:1",
            "right past the end of 'other', which has 4 bytes",
        ),
        (
            "8 bytes in front of the 16 bytes allocated in tensor:1",
            "20 bytes in front of 'other', which has 4 bytes",
        ),
        (
            "14 bytes into the 16 bytes allocated in tensor:1",
            "2 bytes into 'other', which has 4 bytes",
        ),
        (
            "8 bytes into the 16 bytes allocated in tensor:1",
            "4 bytes in front of 'other', which has 4 bytes",
        ),
        ("the 9 bytes allocated in tensor:7",) * 2,
    ],
)
def test_a_tensor_on_the_device_has_its_own_bytes_not_those_of_its_block(
    said, expected
):
    """A number without axes lies 12 bytes into a block of 16."""
    tensors = [SimpleNamespace(extent=8), SimpleNamespace(extent=4)]
    worker = SimpleNamespace(command=SimpleNamespace(tensor=tensors))
    found = cusim.Finding("error", "out_of_bounds", f"reads {said}", ())
    made = cusim_report._worded(found, None, "", worker, ["input", "other"])
    assert made.message.removeprefix("reads ") == expected


# ---- what cusim says, in words for a rung --------------------------------------------


def of_kernel(sentence: str, *places: cusim.Place, ndim: int = 2) -> str:
    """What is made of it, where 'output' has 4 rows of 3 floats, or 1 without axes."""
    extent = 48 if ndim else 4
    at = SimpleNamespace(extent=extent, dtype=2, ndim=ndim, size=[4, 3])
    worker = SimpleNamespace(command=SimpleNamespace(tensor=[at]))
    found = cusim.Finding("error", "any", sentence, places)
    return cusim_report._worded(found, None, "", worker, ["output"]).message


ROW_4 = "a thread writes 4 bytes 0 bytes past the end of the 48 bytes allocated in "
ROW_4 += "tensor:0, as thread {} of 32 in the grid"
SCRATCH = ROW_4.replace("tensor:0", "scratch:0")


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        (ROW_4.format(4), "'output' has 4 rows and this is thread 4, counted"),
        (ROW_4.format(12), "'output' has 12 elements and this is thread 12, cou"),
        (ROW_4.format(3), ""),  # it has a row, and goes too far in it
        (ROW_4.format(5), ""),  # another row than its own
        (ROW_4.replace("0 bytes past", "12 bytes past").format(5), "return early"),
        (ROW_4.partition(", as")[0], ""),  # a grid of two axes
        (SCRATCH.format(12), "for 12 elements of 4 bytes and this is thread 12, c"),
        (SCRATCH.replace("the 48", "the 4").format(1), "for 1 element of 4 bytes"),
        (SCRATCH.format(4), ""),  # it has an element
        (SCRATCH.replace("the 48", "the 47").format(12), ""),  # of another size
    ],
)
def test_a_spare_thread_is_told_to_return_where_it_is_one(sentence, words):
    found = of_kernel(sentence)
    assert ("Threads past the end" in found) == bool(words)
    assert words in found


def test_a_tensor_without_axes_has_one_element():
    one = ROW_4.replace("the 48", "the 4").format(1)
    assert "'output' has 1 element and this is thread 1" in of_kernel(one, ndim=0)


def test_a_launcher_is_not_told_to_copy():
    said = "the host touched device memory, 4 bytes into the 48 bytes allocated in "
    found = of_kernel(said + "tensor:0; copy it with cudaMemcpy first")
    assert "cudaMemcpy" not in found
    assert "must not read or write tensor data" in found and "Let a kernel" in found


@pytest.mark.parametrize("asked", ["put ", "put __syncwarp() or "])
@pytest.mark.parametrize(
    ("barrier", "lines", "words"),
    [
        ("__syncthreads();", (1, 3), "stands at line 2, between the two lines"),
        ("__syncthreads();", (3, 1), "Then put another __syncthreads() at the end of"),
        ("__syncthreads();", (1, 2), "() between the two accesses"),
        ("if (i < 9) __syncthreads();", (1, 3), "let every thread of the block reach"),
        ("// __syncthreads();", (1, 3), "() between the two accesses"),
    ],
)
def test_a_barrier_is_not_asked_for_where_one_stands(
    monkeypatch, asked, barrier, lines, words
):
    text = ["", "tile[i] = 1;", barrier, "sum += tile[j];"]
    monkeypatch.setattr(
        cusim_report.quoted_line, "line", lambda _, number: text[number]
    )
    places = [cusim.Place("read", "a.cu", line) for line in lines]
    asked += "__syncthreads() between the two accesses"
    found = of_kernel(asked, *places)
    assert words in found
    assert (asked in found) == ("accesses" in words)


@pytest.mark.parametrize(
    ("who", "where", "accesses", "name"),
    [
        ("one block", "shared memory", "read written", "barrier_missing"),
        ("one block", "dynamic shared memory", "written read", "barrier_missing"),
        ("one block", "shared memory", "written written", None),
        ("one block", "global memory", "read written", None),
        ("different blocks", "global memory", "written written", "blocks_share"),
        ("different blocks", "global memory", "read written", None),
    ],
)
def test_a_race_has_a_name_where_what_was_seen_tells_it(who, where, accesses, name):
    said = f"two threads of {who} use the same word of {where}"
    places = tuple(cusim.Place(what, "a.cu", 1) for what in accesses.split())
    found = cusim_report._named(cusim.Finding("error", "race", said, places))
    assert (found or "").startswith(name or "no name") == bool(name)


# ---- the line in the student's file --------------------------------------------------


def test_a_line_of_the_grader_is_never_a_students():
    ours = f'  File "{ROOT}/grader/runner/worker/student_rules.py", line 9 in call\n'
    theirs = "labs/01_python_function/add/00_a.py"
    below = f'  File "{theirs}", line 7 in forward\n'
    for output, line in ((ours + below, f"{theirs}:7"), (ours, None)):
        worker = SimpleNamespace(kind="python", output=output.encode())
        assert outcomes.locate(worker) == line


# ---- which tensor an address belongs to ----------------------------------------------

SIDE = wire.SIDE_TENSORS
SLOT = wire.SLOT_BYTES
NAMES = ["grad_output", *[""] * (SIDE - 1), "grad_input"]


def of_two(*, results: int, offset: int = 0) -> SimpleNamespace:
    """A worker that has 40 bytes of grad_output at 2**32, of grad_input elsewhere."""
    one = {"bank": 0, "extent": 40, "dtype": 2, "ndim": 1, "size": [10], "stride": [1]}
    absent = SimpleNamespace(slot=-1)
    given = SimpleNamespace(slot=0, offset=0, **one)
    made = SimpleNamespace(slot=0, offset=offset, **one)
    return SimpleNamespace(
        command=SimpleNamespace(tensor=[given, *[absent] * (SIDE - 1), made]),
        reply=SimpleNamespace(in_base=[1 << 32], out_base=[results]),
    )


def test_a_vector_that_begins_inside_of_a_tensor_is_told_to_end_past_it():
    place = of_two(results=1 << 33), 0, NAMES, (1 << 32) + 32
    pack = sanitizer_report._in_tensor(*place, 16)
    assert pack.startswith("16 bytes of 'grad_output', the last 8 of them past its end")
    assert "32 bytes from its start" in sanitizer_report._in_tensor(*place, 8)


def test_between_two_slots_the_nearest_tensor_is_meant():
    """The page behind the inputs' slot is the one before the results'."""
    results = (1 << 32) + SLOT + 4096
    worker = of_two(results=results)
    worker.reply.fault_address, worker.reply.fault_write = results - 8, 1
    assert outcomes._touched(worker, NAMES).startswith(
        "writes 8 bytes before the start"
    )


@pytest.mark.parametrize(
    ("access", "expected"),
    [("WRITE", "writes 'grad_input' 56 bytes"), ("READ", "reads 'grad_output' right")],
)
def test_a_write_is_past_a_result_though_an_input_is_nearer(access, expected):
    begin = 1 << 32
    report = (
        f"{access} of size 4 at {begin + 40:#x} thread T0\n{begin + 40:#x} is located "
        f"0 bytes after 40-byte region [{begin:#x},{begin + 40:#x})\n"
    )
    near = of_two(results=begin - 56)
    found = sanitizer_report._address(near, "heap-buffer-overflow", report, NAMES)
    assert found.startswith(expected)


@pytest.mark.parametrize(
    ("ran_out", "verdict", "words"),
    [
        (True, Verdict.LIMIT, "was killed by the system, because memory had"),
        (False, Verdict.CRASH, "SIGKILL: was killed, but not because memory"),
    ],
)
def test_a_rung_that_kills_itself_has_crashed(ran_out, verdict, words):
    death = SimpleNamespace(signal=signal.SIGKILL, code=0)
    reply = SimpleNamespace(phase=wire.PHASE_IN_CALL)
    worker = SimpleNamespace(
        death=death,
        reply=reply,
        started=True,
        kind="c",
        faulted=False,
        output=b"",
        memory_ran_out=ran_out,
    )
    found = outcomes.of_outcome(worker, Outcome.DIED, "small", [], 1.0)
    assert found.verdict is verdict and words in found.message
