# SPDX-License-Identifier: MIT
"""`make debug` runs one case of one rung under a debugger, with its inputs on disk.

A rung in C is built with -O0 -g. `worker --replay` runs it under gdb, which stops at
its functions. A file of lab 01 and the call of an operator of lab 05 run under pdb.
They run in this process, where PyTorch is loaded. The case's tensors are .npy files.
"""

from __future__ import annotations

import bdb
import os
import re
import runpy
import shutil
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np
import torch

from grader import operators, working
from grader.checks.subject import DTYPES, Subject
from grader.checks.values.forward import output_dtypes
from grader.course.rungs import ROOT, Rung
from grader.course.tasks import one_rung
from grader.engine import results
from grader.engine.answers import earlier_links
from grader.engine.answers.earlier_links import build
from grader.errors import GraderError
from grader.operators import Case, Operator, case_file
from grader.operators.case import CaseError
from grader.operators.entry import Tensors
from grader.operators.layouts import lay_out
from grader.options import SEED, Arguments, Option, T, one_of, text
from grader.report import terminal
from grader.runner import programs
from grader.runner.supervisor.call import Output, Run
from grader.runner.supervisor.session import tools
from grader.toolchain.extension import kernels
from grader.toolchain.make import build_folder, build_tools

_KERNEL = re.compile(r"__global__[^;{(]*?\b(\w+)\s*\(")
_REPLAY = '''"""One case of {rung} under pdb."""
import runpy

import numpy as np
import torch


def load(name):
    """A tensor of the case."""
    return torch.from_numpy(np.load(f"{folder}/{{name}}.npy"))


inputs = {{name: load(name) for name in {names!r}}}
for name in {wanted!r}:
    inputs[name].requires_grad_(True)
{found}
arguments = [inputs.get(name) for name in {order!r}]
breakpoint()  # s steps into the function, n to the next line, p prints, c goes on
output = function(*arguments, **{options!r})
output.backward(load("grad_output"))
print("output", tuple(output.shape))
'''


@dataclass(frozen=True)
class Situation:
    """A case of a rung, with everything that was made for it."""

    rung: Rung
    operator: Operator
    case: Case
    dtype: str
    inputs: Tensors
    outputs: list[torch.Tensor]
    grad_outputs: list[torch.Tensor]
    folder: Path
    thread: tuple[int, ...] = (0,)  # of a CUDA kernel: where to stop
    block: tuple[int, ...] = (0,)


def place(name: str, value: str) -> tuple[int, ...]:
    """THREAD= and BLOCK=: 3, or 3,1 for x and y. Raises GraderError."""
    words = (value or "0").split(",")
    if len(words) > 3 or not all(w.isdecimal() and len(w) < 10 for w in words):
        raise GraderError(
            f"{value!r}: expected one, two or three numbers, for example 3,1"
        )
    return tuple(int(word) for word in words)


CASE = Option("CASE", "the name of the case, as in the report", text)
DTYPE = Option("DTYPE", "f32 or f64", one_of("f64", "f32"))
THREAD = Option("THREAD", "CUDA: one to three numbers, for example 3,1", place)
BLOCK = Option("BLOCK", "CUDA: one to three numbers, for example 3,1", place)
OPTIONS = (T, CASE, SEED, DTYPE, THREAD, BLOCK)


def run(arguments: Arguments) -> NoReturn:
    """Start the debugger, and end with it."""
    debug(
        arguments[T],
        arguments[CASE],
        arguments[SEED] or 0,
        arguments[DTYPE],
        thread=arguments[THREAD],
        block=arguments[BLOCK],
    )


def debug(
    wanted: str | None,
    case_name: str | None,
    seed: int,
    dtype: str = "f64",
    *,
    thread: tuple[int, ...] = (0,),
    block: tuple[int, ...] = (0,),
) -> NoReturn:
    """Start the debugger on the numbers of a dtype, and end with it.

    Raises GraderError if `wanted` is not one rung, or has no such case.
    """
    rung = with_cases(wanted, "make debug T=02_naive_c/conv2d/00 CASE=plain")
    operator = operators.get(rung.operator)
    cases = _cases(rung, operator, seed, case_name)
    case = cases.get(case_name or next(iter(cases)))
    if case is None:
        raise GraderError(
            f"{operator.name} has no case {case_name!r}; the cases are: "
            f"{', '.join(cases)}"
        )
    kind = DTYPES[dtype]
    inputs = operator.inputs(case, kind, seed)
    outputs = operator.outputs(inputs, case)
    grads = operator.grad_outputs(case, outputs, kind, seed)
    folder = build_folder() / "debug" / rung.id / case.name
    results.make_folder(folder)
    now = Situation(
        rung, operator, case, dtype, inputs, outputs, grads, folder, thread, block
    )
    _save_tensors(now)
    if rung.step:
        _operator(now)
    if rung.file.suffix == ".py":
        found = f"function = runpy.run_path({str(rung.file)!r})[{operator.name!r}]"
        _python(now, found)
    _c(now)


def _cases(
    rung: Rung, operator: Operator, seed: int, wanted: str | None
) -> dict[str, Case]:
    """All that CASE= may name. Of an exhibit the first is that of the file beside it,
    if it is wanted. Raises GraderError if it cannot be read.
    """
    cases = {case.name: case for case in operator.cases(seed)}
    if rung.exhibit and wanted in (None, case_file.NAME):
        shown = os.path.relpath(rung.case_file, ROOT)
        try:
            mine = case_file.read(rung.case_file, shown, operator)
        except CaseError as error:
            raise GraderError(str(error)) from error
        return {mine.name: mine, **cases}
    return cases


def with_cases(wanted: str | None, example: str) -> Rung:
    """The rung that T= names, of an operator. Raises GraderError for another one."""
    rung, _ = one_rung(wanted, example)
    if rung.exhibit and rung.step:
        raise GraderError(
            f"only make grade builds {rung.id}, in its own package. Print values in "
            "the file, or call your own copy from a script"
        )
    if rung.is_view:
        raise GraderError(
            f"{rung.id} makes views, so it has no cases: make grade prints the call, "
            f'and convlab.load("{rung.id}") repeats the call in Python'
        )
    return rung


def _save_tensors(now: Situation) -> None:
    named = dict(now.inputs)
    for argument, grad in zip(now.operator.signature.outputs, now.grad_outputs):
        named[f"grad_{argument.name}"] = grad
    for name, tensor in named.items():
        np.save(now.folder / f"{name}.npy", tensor.contiguous().numpy())
    terminal.say(f"the case's tensors are in {os.path.relpath(now.folder)}/*.npy")


def _become(command: list[str]) -> NoReturn:
    working.hide()
    sys.stdout.flush()
    os.chdir(ROOT)
    os.execvp(command[0], command)


def _operator(now: Situation) -> NoReturn:
    """An operator of lab 05: pdb in its rules, and how to stop in its C++."""
    from grader.toolchain.extension import package

    name = now.operator.name
    for sentence in package.in_place([name], earlier_links.kernel_links()):
        if sentence.startswith("not built"):
            raise GraderError(sentence)
    script = os.path.relpath(now.folder / "replay.py", ROOT)
    stop = f"-ex 'set breakpoint pending on' -ex 'break {name}_forward_cpu_{now.dtype}'"
    terminal.say(
        "pdb stops before the call; s steps into convlab_ext/*.py. make debug of the "
        "kernel's own file shows line numbers. This command stops at the kernel "
        f"without line numbers: PYTHONBREAKPOINT=0 gdb -q {stop} -ex run --args "
        f"{sys.executable} {script}"
    )
    lines = f"import sys\n\nsys.path.insert(0, {str(kernels.LAB)!r})"
    _python(now, f"{lines}\nfrom convlab_ext import {name} as function")


def _python(now: Situation, found: str) -> NoReturn:
    """A script under pdb; `found` are its lines that say what `function` is."""
    signature = now.operator.signature
    wanted = zip(signature.gradients, now.operator.wanted(now.case))
    script = now.folder / "replay.py"
    script.write_text(
        _REPLAY.format(
            rung=now.rung.id,
            folder=now.folder,
            names=list(now.inputs),
            wanted=[name for name, want in wanted if want],
            found=found,
            order=[a.name for a in signature.inputs],
            options=signature.resolve(now.case.options),
        )
    )
    terminal.say("pdb stops in front of the call")
    _replay(script)


def _replay(script: Path) -> NoReturn:
    """Run a script in this process, and end with it."""
    working.hide()
    os.chdir(ROOT)
    sys.argv = [str(script)]
    try:
        runpy.run_path(str(script), run_name="__main__")
    except bdb.BdbQuit:
        sys.exit(0)  # a person typed q
    except Exception as error:
        called = error.__traceback__
        while called and called.tb_frame.f_code.co_filename != str(script):
            called = called.tb_next
        traceback.print_exception(error.with_traceback(called))
        sys.exit(1)
    sys.exit(0)


def _c(now: Situation) -> NoReturn:
    if not shutil.which("gdb"):
        raise GraderError("gdb is not installed: make system-packages installs it")
    build_tools()
    built = build(now.rung, mode="debug")
    if not built.libraries:
        where = built.location or now.rung.shown
        raise GraderError(f"{where}: {built.error or built.forbidden}")
    library = built.libraries[now.dtype]
    memory = save_memory(now, library, built.directions)
    command = ["gdb", "-q", "-nx", "-iex", "set auto-load off"]
    command += ["-ex", "set breakpoint pending on", "-ex", "set confirm off"]
    command += ["-ex", "set print entry-values no"]
    stops = [f"{now.operator.name}_{direction}" for direction in built.directions]
    if now.rung.file.suffix == ".cu":
        stops = _kernels(now)
    for stop in stops:
        command += ["-ex", f"break {stop}"]
    worker = tools() / programs.program_of(library)
    command += ["-ex", "run", "--args", str(worker), "--replay"]
    command += [str(library), str(library), *(str(path) for path in memory)]
    terminal.say(f"gdb stops in {now.rung.shown}:")
    terminal.say(
        "n: next line, s: step into a call, info locals: variables, c: continue, q: "
        "quit"
    )
    _become(command)


def _kernels(now: Situation) -> list[str]:
    """Where gdb stops in a rung in CUDA: its kernels, in one thread of one block."""
    at = [
        f"{name}.{axis} == {number}"
        for name, place in (("threadIdx", now.thread), ("blockIdx", now.block))
        for axis, number in zip("xyz", place)
    ]
    names = _KERNEL.findall(now.rung.file.read_text(encoding="utf-8"))
    return [f"{name} if {' && '.join(at)}" for name in dict.fromkeys(names)]


def save_memory(
    now: Situation, library: Path, directions: tuple[str, ...]
) -> tuple[Path, Path]:
    """The command and the inputs as a worker would find them. Where backward is called
    alone, it is given the reference's results and saved tensors.
    """
    subject = Subject(now.operator, libraries={now.dtype: (library, library)})
    truth = now.operator.truth(now.inputs, now.case, now.grad_outputs)
    made = [*now.outputs, *(pair[0] for pair in truth.saved if pair)]
    signature, layout = now.operator.signature, now.case.layout
    names = [argument.name for argument in (*signature.outputs, *signature.saved)]
    if any(name in layout for name in names):
        directions = tuple(d for d in directions if d == "backward")
    room: list[Output | None] = []
    for name, right, kind in zip(
        names, made, output_dtypes(subject, DTYPES[now.dtype])
    ):
        filled = lay_out(right.to(kind), layout.get(name, "contiguous"))
        given = None if "forward" in directions else filled
        room.append(Output(tuple(right.shape), kind, filled=given))
    for gradient in truth.gradients:
        shape = None if gradient is None else tuple(gradient.shape)
        room.append(None if shape is None else Output(shape, DTYPES[now.dtype]))
    bits = Run.FORWARD if "forward" in directions else 0
    bits |= Run.BACKWARD if "backward" in directions else 0
    call = subject.call(bits, now.case, now.inputs, room, now.grad_outputs)
    try:
        return subject.worker(now.dtype).save(call, now.folder)
    finally:
        subject.close()
