# SPDX-License-Identifier: MIT
"""The Python worker: runs a file of lab 01 or a package of lab 05, one call at a time.

    python_worker.py libworker.so ROOT CONTRACT IN OUT GO DONE LEVEL PATH...

ROOT is the folder of the grader package, CONTRACT the folder of the convlab package.
The worker imports torch and sets its own limits (limits.h). Only then does it read the
student's text, from shared memory; it never opens their file. For lab 05 it gets the
folder of a package and imports it. It knows no right answer. It reports shapes,
exceptions and forbidden operators. These reports can only cost the student points:
another process judges the numbers.
"""

from __future__ import annotations

import ctypes
import faulthandler
import functools
import gc
import json
import os
import sys
import threading
import warnings
from collections.abc import Callable

THREAD_STACK = 8 << 20
RUN_LOAD = 4


class Link(ctypes.Structure):
    """link_t of link.h."""

    _fields_ = (
        ("command", ctypes.c_void_p),
        ("reply", ctypes.c_void_p),
        ("inputs", ctypes.c_void_p * 8),
        ("outputs", ctypes.c_void_p * 16),
        ("go", ctypes.c_int),
        ("done", ctypes.c_int),
    )


def tie_hands(worker: ctypes.CDLL, link: Link, level: str, paths: list[str]) -> None:
    """Everything in limits.h; ends the process if the sandbox cannot be had."""
    worker.limits_faults.argtypes = [ctypes.c_void_p]
    faulthandler.enable()
    if level == "bwrap":  # files are walled in; this keeps us off our parent
        paths = ["/"]
    if level != "none":
        names = (ctypes.c_char_p * (len(paths) + 1))(*[p.encode() for p in paths], None)
        if worker.limits_landlock(names) and level == "landlock":
            sys.exit("python_worker: this Linux kernel has no Landlock")
    if worker.limits_seccomp():
        sys.exit("python_worker: this Linux kernel has no seccomp filter")
    worker.limits_faults(link.reply)


def serve(worker: ctypes.CDLL, link: Link) -> None:
    """Take commands until killed."""
    from signatures.of_exhibits import numbered

    from grader.runner.supervisor import wire
    from grader.runner.worker.student import Case, Task
    from grader.runner.worker.student_errors import attempt
    from grader.runner.worker.student_package import PackageTask

    reply = wire.Reply.from_address(link.reply or 0)
    command = wire.Command.from_address(link.command or 0)
    task: Task | None = None  # that can be called
    loaded: Task | None = None  # whose rules are in force: they are set up once

    def load() -> None:
        nonlocal task, loaded
        task = None
        data = ctypes.string_at(link.inputs[0], command.bytes)
        header_line, _, text = data.partition(b"\n")
        signature = numbered(command.op)
        header = json.loads(header_line)
        if loaded:  # a diagnosis loads many texts of one file
            loaded.execute(text)
        elif "package" in header:
            loaded = PackageTask(signature, header)
        else:
            loaded = Task(signature, header)
            loaded.execute(text)
        task = loaded

    def run(current: Task) -> None:
        Case(current, command, reply).run()

    kept = (wire.STATUS_OK, wire.STATUS_NO_MEMORY, wire.REPLY_EXIT)
    reply.phase = wire.PHASE_READY
    worker.link_done(ctypes.byref(link))
    while worker.link_wait(ctypes.byref(link)) == 0:
        if command.run & RUN_LOAD:
            reply.phase = wire.PHASE_LOADING
            data = ctypes.string_at(link.inputs[0], command.bytes)
            path = json.loads(data.partition(b"\n")[0])["path"]
            status = attempt(reply, path, load, None)
            reply.status = status if status in kept else wire.REPLY_LOAD_ERROR
            reply.phase = wire.PHASE_LOADED
        elif task:
            reply.phase, reply.given = wire.PHASE_IN_CALL, 0
            step: Callable[[], None] = functools.partial(run, task)
            if isinstance(task, PackageTask):
                step = task.telling(step)
            reply.status = attempt(reply, task.path, step, task.rules)
            reply.phase = wire.PHASE_RETURNED
        worker.link_done(ctypes.byref(link))


def main(arguments: list[str]) -> None:
    """Import, attach, tie our hands, serve."""
    library, root, contract, *rest = arguments
    descriptors, level, paths = [int(x) for x in rest[:4]], rest[4], rest[5:]
    sys.path[:0] = [root, contract]
    warnings.simplefilter("ignore")
    threading.stack_size(THREAD_STACK)
    worker = ctypes.CDLL(library, use_errno=True)
    worker.limits_room.argtypes = [ctypes.c_int64]
    worker.limits_parent()
    os.sched_setaffinity(0, range(os.cpu_count() or 1))  # import on any free core
    gc.disable()  # nearly all that importing makes is there to stay
    import torch
    import torch.fx.experimental.symbolic_shapes  # autograd would, at its first use

    from grader.runner.worker import student_package  # noqa: F401  (imports before the rules)
    from grader.runner.worker.student_gradients import remember_shapes
    from grader.runner.worker.student_memory import poison_empty

    gc.freeze()
    gc.enable()
    os.sched_setaffinity(0, {int(os.environ["CONVLAB_CPU"])})
    torch.set_num_threads(1)
    link = Link()
    attach = worker.link_attach
    room = ctypes.c_int64.in_dll(worker, "LIMITS_ROOM")
    if attach(ctypes.byref(link), *descriptors) or worker.limits_room(room):
        sys.exit("python_worker: cannot attach to the supervisor")
    poison_empty()
    remember_shapes()
    tie_hands(worker, link, level, paths)
    serve(worker, link)


if __name__ == "__main__":
    main(sys.argv[1:])
