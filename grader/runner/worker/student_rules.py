# SPDX-License-Identifier: MIT
"""Checks what a file of lab 01 uses, and that its backward is the student's.

There are two checks. First, the kernels of forbidden operators are replaced, for every
route and thread. Second, an audited call notes every operator and compares it with the
list of allowed ones. Both run in the student's process: they teach, they do not prove.
"""

from __future__ import annotations

import sys
import textwrap
import traceback
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from grader.runner.supervisor.wire import Reply
from grader.runner.worker.student_memory import ContractError

BROADCAST = (
    "uses aten::add with broadcasting or alpha, but this is the task itself. Only "
    "adding two tensors of the same shape is allowed"
)
MEND = "the table in the lab's README lists the allowed operators"
IN_LAB_05 = "let the operator's kernels do it"
KEYS = ("CPU", "SparseCPU", "SparseCsrCPU", "MkldnnCPU")  # kernels of one operator
# namespaces of operators that compute whole layers, by oneDNN, MKL and the like
WITH_LAYERS = (
    *("mkl", "mkldnn", "mkldnn_prepacked", "onednn"),
    *("quantized", "_quantized", "sparse", "static_runtime"),
)
# what importing raises ImportError for, whatever is installed
LIBRARIES = ("numpy", "scipy", "numba", "cupy", "jax", "tensorflow", "sklearn")


class Forbidden(BaseException):
    """The operator being graded, or a near relative, was called."""


def close_numpy() -> None:
    """Arrays of other libraries would carry the task past every other rule."""

    def refused(*_: Any, **__: Any) -> Any:
        raise Forbidden("passes its tensors to NumPy: use only torch")

    for name in ("numpy", "__array__", "__dlpack__"):
        setattr(torch.Tensor, name, refused)
    torch.from_numpy = refused
    for name in LIBRARIES:
        sys.modules[name] = None  # type: ignore[assignment]


class Rules:
    """Which ATen operators the task forbids and which it allows."""

    def __init__(self, header: Mapping[str, Any]) -> None:
        self.forbidden = tuple(header.get("forbidden", ()))
        self.allowed = frozenset(header.get("allowed", ()))
        self.plain_add = bool(header.get("plain_add"))
        self.path = str(header.get("path", ""))
        self.mend = IN_LAB_05 if "package" in header else MEND
        self.libraries: dict[str, torch.library.Library] = {}  # by namespace
        self.caught: list[str] = []  # sentences
        self.ours = False  # the next run of autograd's engine is the worker's own

    def close_doors(self) -> None:
        """Replace the kernels of forbidden operators, for every thread and route."""
        close_numpy()
        self._close_engine()
        if self.plain_add:
            self._narrow_add()
        for word in torch._C._dispatch_get_all_op_names():
            space, _, overload = word.partition("::")
            name = overload.partition(".")[0]
            if self._is_closed(space, name):
                for key in KEYS:
                    self._replace(space, overload, self._caught(space, name), key)

    def _is_closed(self, space: str, name: str) -> bool:
        """Whether no thread may call it. In lab 05 that is only some of aten."""
        if space == "aten":
            return self.is_forbidden(name)
        return space in WITH_LAYERS and bool(self.allowed)

    def _replace(self, space: str, overload: str, kernel: Any, key: str) -> None:
        if space not in self.libraries:
            self.libraries[space] = torch.library.Library(space, "IMPL")
        self.libraries[space].impl(overload, kernel, key)

    def is_forbidden(self, name: str) -> bool:
        """Patterns: `mm` is that operator, `*conv*` any that holds the word."""
        name = name.removesuffix("_")
        return any(
            pattern.strip("*") in name if "*" in pattern else pattern == name
            for pattern in self.forbidden
        )

    def refuse(self, sentence: str) -> None:
        """Remember what was done and where, whoever swallows the exception."""
        sentence += line_here(self.path)
        self.caught.append(sentence)
        raise Forbidden(sentence)

    def _caught(self, space: str, name: str) -> Any:
        return lambda *_, **__: self.refuse(f"calls {space}::{name}: {self.mend}")

    def _close_engine(self) -> None:
        """Autograd runs once a call, for the worker: not inside the student's code."""
        variable: Any = torch.autograd.Variable
        variable._execution_engine = Engine(variable._execution_engine, self)

    def _narrow_add(self) -> None:
        """aten::add, but only of two tensors of one shape."""

        def add(one: Any, other: Any, *, alpha: Any = 1) -> Any:
            if one.shape != other.shape or alpha != 1:
                self.refuse(BROADCAST)
            return torch.sub(one, torch.neg(other))  # the same bits

        def add_(one: Any, other: Any, *, alpha: Any = 1) -> Any:
            if one.shape != other.shape or alpha != 1:
                self.refuse(BROADCAST)
            return one.sub_(torch.neg(other))

        self._replace("aten", "add.Tensor", add, "CPU")
        self._replace("aten", "add_.Tensor", add_, "CPU")

    def judge(self, used: Mapping[str, bool], lines: Mapping[str, str]) -> str:
        """A sentence about the first operator that is not allowed, or nothing."""
        for name, plain in used.items():
            if self.allowed and name not in self.allowed:
                text = f"uses aten::{name}, which this task does not allow: {self.mend}"
                return text + lines.get(name, "")
            if self.plain_add and name in ("add", "add_") and not plain:
                return BROADCAST + lines.get(name, "")
        return ""


class Engine:
    """Autograd's engine, for all of torch's Python: runs when the rules say so."""

    def __init__(self, engine: Any, rules: Rules) -> None:
        self._engine, self._rules = engine, rules

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def run_backward(self, *args: Any, **kwargs: Any) -> Any:
        """For the worker, once a call."""
        if not self._rules.ours:
            self._rules.refuse("lets PyTorch's autograd compute a gradient")
        self._rules.ours = False
        return self._engine.run_backward(*args, **kwargs)


def line_here(path: str) -> str:
    """The student's line that is being run, as a sentence ends with it; "" if none."""
    frames = traceback.extract_stack()
    ours = [f for f in frames if path and f.filename.startswith(path)]
    return shown(ours[-1]) if ours else ""


def shown(frame: traceback.FrameSummary) -> str:
    """A line of source as a sentence ends with it."""
    return f" ({frame.filename}:{frame.lineno}: {quoted(frame.line)})"


def quoted(text: str | None, most: int = 120) -> str:
    """A line of source or of an error in a message: whole words of it, if it has
    several.
    """
    line = text or ""
    shown = textwrap.shorten(line, most, placeholder=" ...")
    return shown if shown != "..." else f"{line[: most - 4]} ..."


def audited(
    run: Callable[[], Any], path: str
) -> tuple[Any, dict[str, bool], dict[str, str]]:
    """Run and note every ATen operator used, with True if each add was a plain one,
    and the line of its first use that was not.
    """
    used: dict[str, bool] = {}
    lines: dict[str, str] = {}

    class Notes(TorchDispatchMode):
        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            return False  # the default imports the compiler, seconds of it

        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            name = func._schema.name.removeprefix("aten::")  # others keep theirs
            plain = True
            if name in ("add", "add_"):
                shapes = [getattr(x, "shape", None) for x in args[:2]]
                alpha = (kwargs or {}).get("alpha", 1)
                plain = shapes[0] == shapes[1] and alpha == 1
            if name not in used or (used[name] and not plain):
                lines[name] = line_here(path)
            used[name] = used.get(name, True) and plain
            return func(*args, **(kwargs or {}))

    notes: TorchDispatchMode = Notes()  # type: ignore[no-untyped-call]
    with notes:
        result = run()
    return result, used, lines


VIEWS = (
    *(
        "View",
        "Reshape",
        "Expand",
        "Squeeze",
        "Unsqueeze",
        "Permute",
        "Transpose",
        "TB",
    ),
    *("Alias", "Slice", "Select", "AsStrided", "UnsafeView", "Clone"),
)


def watch_graph(results: list[Any], reply: Reply) -> None:
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


def _unasked(needed: list[bool], reply: Reply) -> Callable[[Any, Any], None]:
    def hook(grad_inputs: Any, _: Any) -> None:
        for i, (gradient, wanted) in enumerate(zip(grad_inputs, needed)):
            if gradient is not None and not wanted:
                reply.given |= 1 << i

    return hook
