# SPDX-License-Identifier: MIT
"""`make debug`: one case of one rung under a debugger, with its inputs on disk.

A rung in C is built with -O0 -g and run by `worker --replay` under gdb, which stops at
its functions. A file of lab 01 is run under pdb. The case's tensors are .npy files.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from grader.build import build, build_folder, build_tools
from grader.errors import GraderError
from grader.report import results, terminal
from grader.supervisor.session import tools
from grader.tasks import ROOT, Rung, select

_REPLAY = '''"""Runs one case of {rung}; start it with: python -m pdb replay.py"""
import runpy
import numpy as np
import torch

folder = {folder!r}
inputs = {{name: torch.from_numpy(np.load(f"{{folder}}/{{name}}.npy")) for name in {names!r}}}
student = runpy.run_path({file!r})
for name in {wanted!r}:
    inputs[name].requires_grad_(True)
breakpoint()  # 's' steps into the function, 'n' to the next line, 'p x.shape' prints
output = student[{operator!r}](*[inputs.get(name) for name in {order!r}], **{options!r})
output.backward(torch.from_numpy(np.load(f"{{folder}}/grad_output.npy")))
'''


def debug(wanted: str | None, case_name: str | None, seed: int) -> int:
    """Start the debugger. Does not return for C: gdb replaces this process."""
    if not wanted:
        raise GraderError("say which rung: make debug T=02_naive_c/conv2d/00 CASE=plain")
    selection = select(wanted)
    rungs = [r for t in selection.tasks for r in t.rungs if r.id in selection.rungs]
    if len(rungs) != 1:
        listed = ", ".join(rung.id for rung in rungs[:6]) or "none"
        raise GraderError(f"{wanted!r} names {len(rungs)} rungs, say which: {listed}")
    import numpy as np
    import torch

    from grader import operators

    rung = rungs[0]
    operator = operators.get(rung.task.split("/")[1])
    cases = {case.name: case for case in operator.cases(seed)}
    case = cases.get(case_name or next(iter(cases)))
    if case is None:
        raise GraderError(
            f"{operator.name} has no case {case_name!r}; its cases: {', '.join(cases)}"
        )
    inputs = operator.inputs(case, torch.float64, seed)
    outputs = operator.outputs(inputs, case)
    grads = operator.grad_outputs(case, outputs, torch.float64, seed)
    folder = build_folder() / "debug" / rung.id / case.name
    results.make_folder(folder)
    named = {**inputs}
    for argument, grad in zip(operator.signature.outputs, grads):
        named[f"grad_{argument.name}"] = grad
    for name, tensor in named.items():
        np.save(folder / f"{name}.npy", tensor.contiguous().numpy())
    terminal.say(f"the case's tensors are in {os.path.relpath(folder)}/*.npy")
    if rung.file.suffix == ".py":
        return _python(rung, folder, operator, case, inputs)
    return _c(rung, folder, operator, case, inputs, outputs, grads)


def _python(rung: Rung, folder: Path, operator, case, inputs) -> int:  # type: ignore[no-untyped-def]
    signature = operator.signature
    wanted = [
        n for n, w in zip(signature.gradients, operator.wanted(case)) if w and n in inputs
    ]
    script = folder / "replay.py"
    script.write_text(
        _REPLAY.format(
            rung=rung.id,
            folder=str(folder),
            names=list(inputs),
            file=str(rung.file),
            wanted=wanted,
            operator=operator.name,
            order=[a.name for a in signature.inputs],
            options=signature.resolve(case.options),
        )
    )
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, str(script)])


def _c(rung, folder, operator, case, inputs, outputs, grads) -> int:  # type: ignore[no-untyped-def]
    from grader.checks.subject import Subject
    from grader.supervisor.call import Output, Run

    if not shutil.which("gdb"):
        raise GraderError("gdb is not installed: make system-packages installs it")
    build_tools()
    built = build(rung, mode="debug")
    if built.error:
        raise GraderError(f"{built.location or rung.shown}: {built.error}")
    library = built.libraries["f64"]
    subject = Subject(operator, libraries={"f64": (library, library)})
    truth = operator.truth(inputs, case, grads)
    saved = [pair[0] for pair in operator.saved(inputs, case)]
    kinds = {torch_kind(t) for t in saved}
    del kinds
    room: list[Output | None] = [Output(tuple(t.shape), t.dtype) for t in outputs]
    for argument, tensor in zip(operator.signature.saved, saved):
        room.append(Output(tuple(tensor.shape), saved_dtype(argument.dtype)))
    for gradient in truth.gradients:
        room.append(None if gradient is None else Output(tuple(gradient.shape), gradient.dtype))
    bits = 0
    for direction, bit in (("forward", Run.FORWARD), ("backward", Run.BACKWARD)):
        bits |= bit if direction in built.directions else 0
    call = subject.call(bits, case, inputs, room, grads)
    worker = subject.worker("f64")
    try:
        memory = worker.save(call, folder)
    finally:
        subject.close()
    stops = []
    for direction in built.directions:
        stops += ["-ex", f"break {operator.name}_{direction}"]
    arguments = [str(tools() / "worker"), "--replay", str(library), str(library)]
    command = ["gdb", "-q", "-nx", "-iex", "set auto-load off"]
    command += ["-ex", "set breakpoint pending on", *stops, "-ex", "run"]
    command += ["--args", *arguments, *(str(path) for path in memory)]
    terminal.say(f"gdb stops in {rung.shown}; type 'c' to go on, 'info locals' to look")
    sys.stdout.flush()
    os.chdir(ROOT)
    os.execvp("gdb", command)


def torch_kind(tensor) -> str:  # type: ignore[no-untyped-def]
    return str(tensor.dtype)


def saved_dtype(word: str):  # type: ignore[no-untyped-def]
    """The dtype of a saved tensor in the double build."""
    import torch

    return {"i32": torch.int32, "i64": torch.int64}.get(word, torch.float64)
