# SPDX-License-Identifier: MIT
"""Makes a differentiable PyTorch function from an operator in C.

``COperator`` looks at the arguments, allocates the outputs and calls the code. Two
``autograd.Function``s put it into PyTorch's graph. No input is copied: the code gets
the tensors' memory, with their strides.
"""

from __future__ import annotations

import inspect
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from signatures import DIRECTIONS, REQUIRED, Argument, Option, Signature
from signatures.of_exhibits import ALL, number

from convlab._native import binding
from convlab._shapes import output_shapes

# status_t of tensor.h
OK, NOT_IMPLEMENTED, _, NO_MEMORY, CUDA_ERROR, UNSUPPORTED = range(6)
REALS = {torch.float32: "f32", torch.float64: "f64"}
INTEGERS = {"i32": torch.int32, "i64": torch.int64}

Tensors = list[torch.Tensor | None]


@dataclass(frozen=True)
class Code:
    """One direction: the file that defines it, and where its functions lie."""

    file: str  # as people see it: labs/02_naive_c/conv2d/00_definition.c
    address: Mapping[str, int]  # by dtype: f32, f64


class COperator:
    """A forward and a backward in C; call it like PyTorch's own function."""

    def __init__(self, name: str, code: Mapping[str, Code], device: int = 0) -> None:
        """`device` is the address of _device.cpp's function, for code in CUDA."""
        self.device = device
        self.signature = ALL[name]
        self.number = number(name)
        self.code = code
        self.python_signature = python_signature(self.signature)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """The operator's results; they carry a gradient function if one is needed."""
        name = self.signature.name
        try:
            bound = self.python_signature.bind(*arguments, **named)
        except TypeError as error:
            raise TypeError(f"{name}{self.python_signature}: {error}") from None
        bound.apply_defaults()
        values = dict(bound.arguments)
        inputs = [values.pop(argument.name) for argument in self.signature.inputs]
        self._look_at_inputs(inputs)
        options = {o.name: _checked(name, o, values[o.name]) for o in self._options}
        followed = torch.is_grad_enabled() and any(
            tensor is not None and tensor.requires_grad for tensor in inputs
        )
        if followed:
            results = _Forward.apply(self, options, *inputs)
        else:
            results = tuple(self.forward(inputs, options, keep=False)[0])
        return results if len(results) > 1 else results[0]

    @property
    def _options(self) -> tuple[Option, ...]:
        return self.signature.options

    # ---- the two directions ----------------------------------------------------------

    def forward(
        self,
        inputs: Sequence[torch.Tensor | None],
        options: Mapping[str, Any],
        *,
        keep: bool,
    ) -> tuple[list[torch.Tensor], Tensors]:
        """The results, and what is saved, if `keep` says that backward follows."""
        signature = self.signature
        first = inputs[0]
        assert first is not None
        shapes = output_shapes(signature, inputs, options)
        made: Tensors = []
        for k, (argument, shape) in enumerate(
            zip((*signature.outputs, *signature.saved), shapes)
        ):
            wanted = keep or k < len(signature.outputs)
            kind = INTEGERS.get(argument.dtype, first.dtype)
            made.append(torch.empty(shape, dtype=kind) if wanted else None)
        self._run(0, [*inputs, *[None] * len(signature.outputs)], made, options)
        count = len(signature.outputs)
        return [t for t in made[:count] if t is not None], made[count:]

    def backward(
        self,
        kept: Mapping[str, torch.Tensor | None],
        grad_outputs: Sequence[torch.Tensor],
        shapes: Mapping[str, Any],
        options: Mapping[str, Any],
    ) -> dict[str, torch.Tensor]:
        """The gradients by name of their input: those that `shapes` has a shape for.

        `kept` are the inputs and outputs that signature.backward names.
        """
        signature = self.signature
        inputs = [kept.get(argument.name) for argument in signature.inputs]
        outputs = [
            kept.get(argument.name)
            for argument in (*signature.outputs, *signature.saved)
        ]
        gradients = {
            name: torch.empty(shapes[name], dtype=grad_outputs[0].dtype)
            for name in signature.gradients
            if name in shapes
        }
        wanted = [gradients.get(name) for name in signature.gradients]
        self._run(1, [*inputs, *grad_outputs], [*outputs, *wanted], options)
        return gradients

    def _run(
        self,
        direction: int,
        inputs: Tensors,
        outputs: Tensors,
        options: Mapping[str, Any],
    ) -> None:
        """Check and call. Raises what the status means."""
        name = self.signature.name
        code = self.code.get(DIRECTIONS[direction])
        if code is None:
            raise NotImplementedError(
                f"{name}: {name}_{DIRECTIONS[direction]} is not defined, neither in "
                f"{self.code[DIRECTIONS[1 - direction]].file} nor in a lower file"
            )
        kind = next(t.dtype for t in inputs if t is not None and t.dtype in REALS)
        status, refused, sentence = binding().call(
            self.number,
            direction == 1,
            code.address[REALS[kind]],
            [None if t is None else t.detach() for t in inputs],
            [None if t is None else t.detach() for t in outputs],
            self.signature.pack(options),
            torch.get_num_threads(),
            self.device,
        )
        if refused and status != NO_MEMORY:
            raise ValueError(sentence)
        if status != OK:
            raise _error(
                f"{code.file}: {name}_{DIRECTIONS[direction]}", status, sentence
            )

    # ---- arguments -------------------------------------------------------------------

    def _look_at_inputs(self, inputs: Sequence[Any]) -> None:
        """What check.c cannot see: types, devices and dtypes that C has no word for."""
        name, real = self.signature.name, None
        for argument, value in zip(self.signature.inputs, inputs):
            what = f"{name}: '{argument.name}'"
            if value is None and argument.optional:
                continue
            if not isinstance(value, torch.Tensor):
                optional = " or None" if argument.optional else ""
                raise TypeError(
                    f"{what} must be a torch.Tensor{optional}, "
                    f"got {type(value).__name__}"
                )
            if value.layout != torch.strided:
                raise ValueError(f"{what} is {value.layout}, expected torch.strided")
            if value.device.type != "cpu":
                raise ValueError(
                    f"{what} is on {value.device}, expected cpu: move it with .cpu()"
                )
            _look_at_dtype(what, argument, value, real)
            real = real or (value.dtype if argument.dtype == "real" else None)
            if value.dim() > 6:
                raise ValueError(f"{what} has {value.dim()} axes, expected at most 6")


def _look_at_dtype(
    what: str, argument: Argument, value: torch.Tensor, real: torch.dtype | None
) -> None:
    if argument.dtype in INTEGERS:
        expected = INTEGERS[argument.dtype]
        if value.dtype != expected:
            raise ValueError(f"{what} is {value.dtype}, expected {expected}")
    elif value.dtype not in REALS:
        raise ValueError(
            f"{what} is {value.dtype}, expected torch.float32 or torch.float64"
        )
    elif real and value.dtype != real:
        raise ValueError(
            f"{what} is {value.dtype}, but the tensor before it is {real}: expected "
            "the same dtype"
        )


def _checked(name: str, option: Option, value: Any) -> Any:
    """An option's value if its type is right. How large it may be says check.c."""
    what = f"{name}: {option.name}"
    if option.kind == "choice":
        if value not in option.choices:
            raise ValueError(f"{what} must be one of {option.choices}, got {value!r}")
        return value
    if option.kind == "float":
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise TypeError(f"{what} must be a number, got {value!r}")
        return float(value)
    numbers = value if option.axes and isinstance(value, (tuple, list)) else [value]
    right = all(isinstance(n, int) and not isinstance(n, bool) for n in numbers)
    if not right or (numbers is value and len(numbers) != len(option.axes)):
        several = {2: " or two ints", 3: " or three ints"}
        expected = f"an int{several.get(len(option.axes), '')}"
        raise TypeError(f"{what} must be {expected}, got {value!r}")
    try:
        struct.pack(f"={len(numbers)}q", *numbers)
    except struct.error:
        raise ValueError(
            f"{what} is {value}, which does not fit into int64_t"
        ) from None
    return option.values(value) if option.axes else value


def _error(where: str, status: int, sentence: str) -> Exception:
    """What a status other than OK means, as an exception."""
    more = f": {sentence}" if sentence else ""
    if status == NOT_IMPLEMENTED:
        return NotImplementedError(f"{where} is not written yet{more}")
    if status == NO_MEMORY:
        return RuntimeError(f"{where} got no memory (STATUS_NO_MEMORY){more}")
    if status == CUDA_ERROR:
        return RuntimeError(f"{where} returned STATUS_CUDA_ERROR{more}")
    if status == UNSUPPORTED:
        return NotImplementedError(
            f"{where} does not compute these arguments (STATUS_UNSUPPORTED), and no "
            f"lower file computes them{more}"
        )
    return RuntimeError(
        f"{where} returned {status}, which is not an allowed status "
        f"(common/operators.h){more}"
    )


def python_signature(signature: Signature) -> inspect.Signature:
    """The arguments as PyTorch names and orders them."""
    one = inspect.Parameter
    made = [
        one(
            a.name, one.POSITIONAL_OR_KEYWORD, default=None if a.optional else one.empty
        )
        for a in signature.inputs
    ]
    for option in signature.options:
        kind = one.KEYWORD_ONLY if option.keyword_only else one.POSITIONAL_OR_KEYWORD
        default = one.empty if option.default is REQUIRED else option.default
        made.append(one(option.name, kind, default=default))
    return inspect.Signature(made)


# ---- autograd ------------------------------------------------------------------------


class _Forward(torch.autograd.Function):
    """Runs the operator and keeps what its backward is handed."""

    @staticmethod
    def forward(
        ctx: Any,
        operator: COperator,
        options: dict[str, Any],
        *inputs: torch.Tensor | None,
    ) -> tuple[torch.Tensor, ...]:
        signature = operator.signature
        results, saved = operator.forward(inputs, options, keep=True)
        named = dict(zip((a.name for a in signature.inputs), inputs))
        ctx.operator, ctx.options = operator, options
        ctx.shapes = {k: tuple(t.shape) for k, t in named.items() if t is not None}
        made = (*signature.outputs, *signature.saved)
        named |= dict(zip((a.name for a in made), [*results, *saved]))
        ctx.save_for_backward(*(named[name] for name in signature.backward))
        return tuple(results)

    @staticmethod
    def backward(
        ctx: Any, *grad_outputs: torch.Tensor
    ) -> tuple[torch.Tensor | None, ...]:
        signature = ctx.operator.signature
        needed = dict(zip((a.name for a in signature.inputs), ctx.needs_input_grad[2:]))
        names = [name for name in signature.gradients if needed[name]]
        shapes = {name: ctx.shapes[name] for name in names}
        found = _Backward.apply(
            ctx.operator, ctx.options, shapes, *grad_outputs, *ctx.saved_tensors
        )
        gradients = dict(zip(names, found))
        return (None, None, *(gradients.get(a.name) for a in signature.inputs))


class _Backward(torch.autograd.Function):
    """Backward as a step of its own, so that a second derivative ends in a sentence.

    Without it PyTorch would take the gradients for constants wherever only the saved
    tensors lead back to the inputs, and leave terms out in silence.
    """

    @staticmethod
    def forward(
        ctx: Any,
        operator: COperator,
        options: dict[str, Any],
        shapes: dict[str, Any],
        *tensors: torch.Tensor | None,
    ) -> tuple[torch.Tensor, ...]:
        ctx.operator = operator
        count = len(operator.signature.outputs)
        grad_outputs = [t for t in tensors[:count] if t is not None]
        kept = dict(zip(operator.signature.backward, tensors[count:]))
        return tuple(operator.backward(kept, grad_outputs, shapes, options).values())

    @staticmethod
    def backward(ctx: Any, *_: torch.Tensor) -> None:
        operator = ctx.operator
        raise RuntimeError(
            f"{operator.signature.name}: cannot be differentiated twice: its backward "
            f"in {operator.code['backward'].file} is C code, which PyTorch cannot "
            "differentiate"
        )
