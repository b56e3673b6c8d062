# SPDX-License-Identifier: MIT
"""The Python worker: runs a file of lab 01, one call at a time.

    python_worker.py libworker.so CONTRACT WIRE IN OUT GO DONE LEVEL PATH...

CONTRACT is the folder of the convlab package, WIRE that of wire.py.

It imports torch, ties its hands (guard.h), and only then takes the student's text from
shared memory; it never opens their file. It knows no right answer. What it says about
shapes, exceptions and forbidden operators are hints that can only cost the student
points; the numbers are judged outside.
"""

from __future__ import annotations

import ctypes
import faulthandler
import json
import linecache
import os
import sys
import threading
import traceback
import types
import warnings
from typing import Any

ADDRESS_SPACE = 9 << 30
UNWRITTEN = 0x2FFF  # the tag of memory that torch.empty gave out

PHASE_READY, PHASE_LOADING, PHASE_LOADED, PHASE_IN_CALL = 1, 2, 3, 4
PHASE_RETURNED = 5
RUN_BACKWARD, RUN_LOAD, RUN_MODULE, RUN_AUDIT = 2, 4, 8, 16
OK, NOT_IMPLEMENTED, NO_MEMORY = 0, 1, 3
CONTRACT, EXCEPTION, EXIT, FORBIDDEN, LOAD_ERROR = 16, 17, 18, 19, 20


class Forbidden(BaseException):
    """The operator being graded, or a near relative, was called."""


class ContractError(Exception):
    """What came back is not what the contract says."""


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


# ---- memory ------------------------------------------------------------------------------


def view(wire: Any, base: int) -> torch.Tensor:
    """The tensor that lies in a slot, with the strides the supervisor chose."""
    size = tuple(wire.size[: wire.ndim])
    dtype = DTYPES[wire.dtype]
    if wire.extent == 0:
        return torch.zeros(size, dtype=dtype)
    memory = (ctypes.c_char * wire.extent).from_address(base + wire.offset)
    flat = torch.frombuffer(memory, dtype=dtype)
    return flat.as_strided(size, tuple(wire.stride[: wire.ndim]))


def as_bits(tensor: torch.Tensor) -> torch.Tensor:
    """The same memory as integers: copying NaNs as floats could change them."""
    return tensor.view(torch.int32 if tensor.element_size() == 4 else torch.int64)


def poison(tensor: torch.Tensor) -> torch.Tensor:
    """Fill what torch.empty gave with NaNs that say so."""
    if tensor.dtype in (torch.float32, torch.float64) and tensor.numel():
        as_bits(tensor).fill_(POISON[tensor.dtype])
    return tensor


def poison_empty() -> None:
    """Make every way to get uninitialised memory in Python hand out poison."""

    def wrapped(function: Any) -> Any:
        return lambda *args, **kwargs: poison(function(*args, **kwargs))

    for name in ("empty", "empty_like", "empty_strided"):
        setattr(torch, name, wrapped(getattr(torch, name)))
    for name in ("new_empty", "new_empty_strided"):
        setattr(torch.Tensor, name, wrapped(getattr(torch.Tensor, name)))


def give(result: Any, wire: Any, base: int, name: str) -> None:
    """Copy a result into its slot, or say how it departs from the contract."""
    size, dtype = tuple(wire.size[: wire.ndim]), DTYPES[wire.dtype]
    if not isinstance(result, torch.Tensor):
        kind = type(result).__name__
        raise ContractError(f"{name} is a {kind}, expected a torch.Tensor")
    if tuple(result.shape) != size:
        raise ContractError(
            f"{name} has shape {tuple(result.shape)}, expected {size}"
        )
    if result.dtype != dtype:
        raise ContractError(f"{name} is {result.dtype}, expected {dtype}")
    if result.device.type != "cpu" or result.layout != torch.strided:
        raise ContractError(f"{name} must be a dense tensor on the CPU")
    if wire.extent == 0:
        return
    source, target = as_bits(result.detach().contiguous()), as_bits(view(wire, base))
    written = source != POISON[dtype]
    target.copy_(torch.where(written, source, target))  # unwritten stays unwritten


# ---- what a student may use --------------------------------------------------------------


class Rules:
    """Which ATen operators the task forbids and which it allows."""

    def __init__(self, header: dict[str, Any]) -> None:
        self.forbidden = tuple(header.get("forbidden", ()))
        self.allowed = frozenset(header.get("allowed", ()))
        self.plain_add = bool(header.get("plain_add"))
        self.library: Any = None
        self.caught: list[str] = []

    def close_doors(self) -> None:
        """Replace the kernels of forbidden operators, for every thread and route."""
        self.library = torch.library.Library("aten", "IMPL")
        for schema in torch._C._jit_get_all_schemas():
            space, _, name = schema.name.partition("::")
            if space == "aten" and self.is_forbidden(name):
                overload = f".{schema.overload_name}" if schema.overload_name else ""
                self.library.impl(name + overload, self._caught(name), "CPU")

    def is_forbidden(self, name: str) -> bool:
        """Patterns: `mm` is that operator, `*conv*` any that holds the word."""
        name = name.removesuffix("_")
        return any(
            pattern.strip("*") in name if "*" in pattern else pattern == name
            for pattern in self.forbidden
        )

    def _caught(self, name: str) -> Any:
        def kernel(*_: Any, **__: Any) -> Any:
            self.caught.append(name)
            raise Forbidden(name)

        return kernel

    def judge(self, used: dict[str, Any]) -> str:
        """A sentence about the first operator that is not allowed, or nothing."""
        for name, plain in used.items():
            if self.allowed and name not in self.allowed:
                return f"uses aten::{name}, which this task does not allow"
            if self.plain_add and name in ("add", "add_") and not plain:
                return (
                    "uses aten::add with broadcasting or alpha: that is the operator "
                    "this task asks for (adding two tensors of one shape is allowed)"
                )
        return ""


def audited(rules: Rules, run: Any) -> tuple[Any, dict[str, Any]]:
    """Run and note every ATen operator used, with True if each add was a plain one."""
    used: dict[str, Any] = {}

    class Notes(TorchDispatchMode):
        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            return False  # the default imports the compiler, seconds of it

        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            name = func._schema.name.partition("::")[2]
            plain = True
            if name in ("add", "add_"):
                shapes = [getattr(x, "shape", None) for x in args[:2]]
                alpha = (kwargs or {}).get("alpha", 1)
                plain = shapes[0] == shapes[1] and alpha == 1
            used[name] = used.get(name, True) and plain
            return func(*args, **(kwargs or {}))

    with Notes():
        result = run()
    return result, used


# ---- one call ----------------------------------------------------------------------------


class Task:
    """The student's module, and how to call what it defines."""

    def __init__(self, signature: Any, header: dict[str, Any], text: str) -> None:
        self.signature = signature
        self.rules = Rules(header)
        self.path = header["path"]
        self.module = types.ModuleType("student")
        sys.modules["student"] = self.module
        self.module.__file__ = self.path
        lines = text.splitlines(keepends=True)
        linecache.cache[self.path] = (len(text), None, lines, self.path)
        self.rules.close_doors()
        exec(compile(text, self.path, "exec"), self.module.__dict__)
        self.function = getattr(self.module, signature.name, None)
        if not callable(self.function):
            raise ContractError(f"defines no function '{signature.name}'")

    def options(self, raw: bytes) -> dict[str, Any]:
        """The options of a command; a pair of equal numbers is given as one."""
        values: dict[str, Any] = {}
        at = 0
        for option in self.signature.options:
            kind = ctypes.c_double if option.kind == "float" else ctypes.c_int64
            fields = []
            for _ in option.fields:
                fields.append(kind.from_buffer_copy(raw, at).value)
                at += 8
            if option.kind == "choice":
                values[option.name] = option.choices[fields[0] - 1]
            elif option.pair and fields[0] != fields[1]:
                values[option.name] = tuple(fields)
            else:
                values[option.name] = fields[0]
        return values

    def call(self, inputs: list[Any], options: dict[str, Any], *, module: bool) -> Any:
        """The function with options by position, or the module built for the inputs."""
        if module:
            return self._through_module(inputs, options)
        keywords = {o.name for o in self.signature.options if o.keyword_only}
        positional = [v for k, v in options.items() if k not in keywords]
        named = {k: v for k, v in options.items() if k in keywords}
        return self.function(*inputs, *positional, **named)

    def _through_module(self, inputs: list[Any], options: dict[str, Any]) -> Any:
        cls = getattr(self.module, self.signature.module, None)
        if cls is None:
            raise ContractError(f"defines no module class '{self.signature.module}'")
        named = dict(zip((a.name for a in self.signature.inputs), inputs))
        weight, bias = named.get("weight"), named.get("bias")
        made = {}
        for argument in self.signature.module_arguments:
            made[argument] = {
                "in_features": lambda: weight.shape[1],
                "out_features": lambda: weight.shape[0],
                "in_channels": lambda: weight.shape[1] * options.get("groups", 1),
                "out_channels": lambda: weight.shape[0],
                "kernel_size": lambda: tuple(weight.shape[2:]),
                "bias": lambda: bias is not None,
            }[argument]()
        network = cls(**made, **options)
        if not isinstance(network, torch.nn.Module):
            raise ContractError(f"{self.signature.module} is not a torch.nn.Module")
        for name in ("weight", "bias"):
            if name in named and named[name] is not None:
                self._fill_parameter(network, name, named.pop(name))
        moving = [t for k, t in named.items() if k not in ("weight", "bias")]
        return network(*moving)

    def _fill_parameter(self, network: Any, name: str, value: torch.Tensor) -> None:
        parameter = dict(network.named_parameters()).get(name)
        if parameter is None:
            raise ContractError(f"{self.signature.module} has no parameter '{name}'")
        if parameter.shape != value.shape:
            raise ContractError(
                f"{self.signature.module}.{name} has shape {tuple(parameter.shape)}, "
                f"expected {tuple(value.shape)}"
            )
        parameter.data = value.detach().clone()


def run_case(task: Task, command: Any, link: Link, reply: Any) -> None:
    """One command: call the student, copy results out."""
    signature = task.signature
    tensors = [
        view(wire, link.inputs[wire.slot]) if wire.slot >= 0 else None
        for wire in command.tensor[:8]
    ]
    count = len(signature.inputs)
    inputs, grad_outputs = tensors[:count], tensors[count:]
    first_gradient = 8 + len(signature.outputs) + len(signature.saved)
    wanted = []
    for i, name in enumerate(signature.gradients):
        at = [a.name for a in signature.inputs].index(name)
        if command.tensor[first_gradient + i].slot >= 0 and inputs[at] is not None:
            wanted.append((i, at))
            inputs[at].requires_grad_(True)
    options = task.options(bytes(command.options))
    audit, module = command.run & RUN_AUDIT, bool(command.run & RUN_MODULE)

    def student() -> list[Any]:
        result = task.call(inputs, options, module=module)
        results = list(result) if len(signature.outputs) > 1 else [result]
        for i, output in enumerate(signature.outputs):
            wire = command.tensor[8 + i]
            base = link.outputs[wire.bank * 8 + wire.slot]
            give(results[i], wire, base, f"'{output.name}'")
        if not command.run & RUN_BACKWARD:
            return []
        if audit:
            watch_graph(results, [inputs[at] for _, at in wanted], signature, reply)
        for output in results:
            if not output.requires_grad:
                raise ContractError(
                    "the result has no gradient function (is it made by "
                    "Function.apply?)"
                )
        return list(
            torch.autograd.grad(
                results,
                [inputs[at] for _, at in wanted],
                grad_outputs[: len(results)],
                allow_unused=True,
            )
        )

    if audit:
        gradients, used = audited(task.rules, student)
        if sentence := task.rules.judge(used):
            raise Forbidden(sentence)
    else:
        gradients = student()
    for (i, _), gradient in zip(wanted, gradients):
        wire = command.tensor[first_gradient + i]
        base = link.outputs[wire.bank * 8 + wire.slot]
        name = f"grad_{signature.gradients[i]}"
        if gradient is None:
            raise ContractError(f"backward returned None for '{name}', which is wanted")
        give(gradient, wire, base, f"'{name}'")


VIEWS = ("View", "Reshape", "Expand", "Squeeze", "Unsqueeze", "Permute", "Transpose")


def watch_graph(results: list[Any], inputs: list[Any], signature: Any, reply: Any) -> None:
    """Is backward the student's own, and does it give what was not asked for?"""
    waiting = [result.grad_fn for result in results if result.grad_fn is not None]
    seen = set()
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        waiting += [edge[0] for edge in node.next_functions]
        kind = type(node).__name__
        if isinstance(node, torch.autograd.function.BackwardCFunction):
            needed = [edge[0] is not None for edge in node.next_functions]
            node.register_hook(_unasked(needed, reply))
        elif not kind.startswith((*VIEWS, "AccumulateGrad")):
            raise ContractError(
                f"the gradient goes through PyTorch's own {kind}: compute it in a "
                "torch.autograd.Function"
            )


def _unasked(needed: list[bool], reply: Any) -> Any:
    def hook(grad_inputs: Any, _: Any) -> None:
        for i, (gradient, wanted) in enumerate(zip(grad_inputs, needed)):
            if gradient is not None and not wanted:
                reply.given |= 1 << i

    return hook


# ---- the loop ----------------------------------------------------------------------------


def sentence_of(error: BaseException, path: str) -> str:
    """One line about an exception, with the student's line if there is one."""
    text = str(error).strip().split("\n")[0][:400] or "no message"
    where = ""
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename == path:
            where = f" ({path}:{frame.lineno}: {(frame.line or '').strip()[:120]})"
    if isinstance(error, SyntaxError) and error.lineno:
        where = f" ({path}:{error.lineno}: {(error.text or '').strip()[:120]})"
        text = error.msg
    return f"{type(error).__name__}: {text}{where}"


def status_of(error: BaseException) -> int:
    """The status that a student's exception stands for."""
    if isinstance(error, NotImplementedError):
        return NOT_IMPLEMENTED
    if isinstance(error, ContractError):
        return CONTRACT
    if isinstance(error, Forbidden):
        return FORBIDDEN
    if isinstance(error, SystemExit):
        return EXIT
    words = ("can't allocate memory", "not enough memory", "can't start new thread")
    if isinstance(error, MemoryError) or any(word in str(error) for word in words):
        return NO_MEMORY
    return EXCEPTION


def attempt(reply: Any, path: str, run: Any, rules: Rules | None) -> int:
    """Run student code; whatever it raises becomes a status and a sentence."""
    status = OK
    reply.message = b""
    try:
        run()
    except BaseException as error:
        status = status_of(error)
        text = str(error) if status in (CONTRACT, FORBIDDEN) else sentence_of(error, path)
        reply.message = text.encode()[:1000]
    if rules and rules.caught:
        reply.message = f"calls aten::{rules.caught[0]}".encode()
        status = FORBIDDEN
    return status


def load(command: Any, link: Link, reply: Any) -> Task | None:
    """Take the student's text from slot 0 and run it."""
    data = ctypes.string_at(link.inputs[0], command.bytes)
    header_line, _, text = data.partition(b"\n")
    header = json.loads(header_line)
    signature = list(SIGNATURES.values())[command.op]
    made: list[Task] = []

    def run() -> None:
        made.append(Task(signature, header, text.decode(errors="replace")))

    reply.phase = PHASE_LOADING
    reply.status = attempt(reply, header["path"], run, None)
    if reply.status not in (OK, EXIT, NO_MEMORY):
        reply.status = LOAD_ERROR
    reply.phase = PHASE_LOADED
    return made[0] if made else None


def main(arguments: list[str]) -> None:
    """Tie our hands, then serve until killed."""
    library, _, *rest = arguments
    descriptors, level, paths = [int(x) for x in rest[:4]], rest[4], rest[5:]
    worker = ctypes.CDLL(library, use_errno=True)
    worker.guard_limits.argtypes = [ctypes.c_int64]
    worker.guard_faults.argtypes = [ctypes.c_void_p]
    link = Link()
    if worker.guard_limits(ADDRESS_SPACE) or worker.link_attach(
        ctypes.byref(link), *descriptors
    ):
        sys.exit("python_worker: cannot attach to the supervisor")
    reply = Reply.from_address(link.reply)
    command = Command.from_address(link.command)
    poison_empty()
    faulthandler.enable()
    if level == "bwrap":  # files are walled in; this keeps us off bwrap's init
        paths = ["/"]
    if level != "none":
        names = (ctypes.c_char_p * (len(paths) + 1))(*[p.encode() for p in paths], None)
        if worker.guard_landlock(names) and level == "landlock":
            sys.exit("python_worker: this kernel has no Landlock")
    if worker.guard_seccomp():
        sys.exit("python_worker: this kernel has no seccomp filter")
    worker.guard_faults(link.reply)
    reply.phase = PHASE_READY
    worker.link_done(ctypes.byref(link))
    task: Task | None = None
    while worker.link_wait(ctypes.byref(link)) == 0:
        if command.run & RUN_LOAD:
            task = load(command, link, reply)
        elif task:
            reply.phase, reply.given = PHASE_IN_CALL, 0
            current = task
            status = attempt(
                reply,
                task.path,
                lambda: run_case(current, command, link, reply),
                task.rules,
            )
            reply.status = status
            reply.phase = PHASE_RETURNED
        worker.link_done(ctypes.byref(link))


if __name__ == "__main__":
    sys.path[:0] = [sys.argv[2], sys.argv[3]]
    warnings.simplefilter("ignore")
    os.sched_setaffinity(0, range(os.cpu_count() or 1))  # import on whatever is free
    import torch
    import wire
    from convlab.operators import SIGNATURES
    from torch.utils._python_dispatch import TorchDispatchMode
    from wire import Command, Reply

    os.sched_setaffinity(0, {int(os.environ["CONVLAB_CPU"])})
    DTYPES = [getattr(torch, name) for name in wire.DTYPES]

    threading.stack_size(8 << 20)
    torch.set_num_threads(1)
    POISON = {
        torch.float32: 0x7FA00000 | UNWRITTEN,
        torch.float64: 0x7FF4000000000000 | UNWRITTEN,
    }
    main([sys.argv[1], *sys.argv[3:]])
