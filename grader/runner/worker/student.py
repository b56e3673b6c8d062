# SPDX-License-Identifier: MIT
"""Loads the student's module of lab 01, and calls the functions that it defines."""

from __future__ import annotations

import ctypes
import linecache
import sys
import types
from collections.abc import Callable, Sequence
from importlib.util import decode_source
from typing import Any

import torch
from signatures import REQUIRED, Signature

from grader.runner.supervisor.wire import SIDE_TENSORS, Command, Reply, WireTensor
from grader.runner.worker.second import Refused, second_derivatives
from grader.runner.worker.student_gradients import (
    in_words,
    line_of_cut,
    nodes,
    output_for_input,
)
from grader.runner.worker.student_memory import ContractError, give, view
from grader.runner.worker.student_rules import Forbidden, Rules, audited, watch_graph
from grader.runner.worker.torch_calls import WINDOW, mixed_up

RUN_BACKWARD, RUN_MODULE, RUN_AUDIT, RUN_DEFAULTS = 2, 8, 16, 32
RUN_SECOND = 2048


def _depthwise(channels: int, multiplier: int, **more: Any) -> torch.nn.Conv2d:
    """torch.nn's own depthwise layer is a Conv2d with a group for each channel."""
    return torch.nn.Conv2d(channels, channels * multiplier, groups=channels, **more)


LIKE: dict[str, Callable[..., torch.nn.Module]] = {  # modules of torch.nn
    "Linear": torch.nn.Linear,
    "Conv2d": torch.nn.Conv2d,
    "LayerNorm": torch.nn.LayerNorm,
    "DepthwiseConv2d": _depthwise,
}

FACTORS = {  # what multiplies each other: one has no gradient without the other
    "matmul": ("input", "other"),
    "linear": ("input", "weight"),
    "conv2d": ("input", "weight"),
    "depthwise_conv2d": ("input", "weight"),
    "gelu": ("input",),
    "subm_conv3d": ("features", "weight"),
}

# sizes to look at the initial parameters with: hundreds of biases, so that the largest
# of them is near the bound
SAMPLE: dict[str, dict[str, Any]] = {
    "Linear": {"in_features": 40, "out_features": 600},
    "Conv2d": {
        "in_channels": 8,
        "out_channels": 600,
        "kernel_size": (3, 5),
        "groups": 4,
    },
    "LayerNorm": {"normalized_shape": 600},
    "DepthwiseConv2d": {"channels": 300, "multiplier": 2, "kernel_size": (3, 5)},
}
SWITCHES = ("elementwise_affine", "bias")  # of a constructor, True by default

Tensors = list[torch.Tensor | None]


class Task:
    """The student's module, and how to call what it defines."""

    def __init__(self, signature: Signature, header: dict[str, Any]) -> None:
        self.signature = signature
        self.rules = Rules(header)
        self.path = header["path"]
        self.rules.close_doors()

    def execute(self, source: bytes) -> None:
        """Run the file's top level; what an earlier text of it did is forgotten."""
        self.rules.caught.clear()
        self.module = types.ModuleType("student")
        sys.modules["student"] = self.module
        self.module.__file__ = self.path
        code = compile(source, self.path, "exec")  # bytes: it knows of encodings
        lines = decode_source(source).splitlines(keepends=True)
        linecache.cache[self.path] = (len(source), None, lines, self.path)
        exec(code, self.module.__dict__)
        function = getattr(self.module, self.signature.name, None)
        if not callable(function):
            name = self.signature.name
            raise ContractError(f"the file defines no function '{name}'")
        self.function: Callable[..., Any] = function
        self.looked_at_initial = False

    def options(self, raw: bytes) -> dict[str, Any]:
        """The options of a command; equal numbers for all axes are given as one."""
        values: dict[str, Any] = {}
        at = 0
        for option in self.signature.options:
            kind = ctypes.c_double if option.kind == "float" else ctypes.c_int64
            fields = []
            for _ in option.fields:
                fields.append(kind.from_buffer_copy(raw, at).value)
                at += 8
            if option.kind == "choice":
                values[option.name] = option.choices[int(fields[0]) - 1]
            elif len(set(fields)) > 1:
                values[option.name] = tuple(fields)
            else:
                values[option.name] = fields[0]
        return values

    def call(self, inputs: Tensors, options: dict[str, Any], *, run: int) -> Any:
        """The function or the module. Options go by position; with RUN_DEFAULTS they go
        by name, and what equals its default is left out.
        """
        short = bool(run & RUN_DEFAULTS)
        if run & RUN_MODULE:
            return self._through_module(inputs, options, short=short)
        if short:
            given = list(inputs)
            while given and given[-1] is None:
                given.pop()
            return self.function(*given, **self._not_default(options))
        keywords = {o.name for o in self.signature.options if o.keyword_only}
        positional = [v for k, v in options.items() if k not in keywords]
        named = {k: v for k, v in options.items() if k in keywords}
        return self.function(*inputs, *positional, **named)

    def _not_default(self, options: dict[str, Any]) -> dict[str, Any]:
        return {
            option.name: options[option.name]
            for option in self.signature.options
            if option.default is REQUIRED
            or option.values(option.default) != option.values(options[option.name])
        }

    def _through_module(
        self, inputs: Tensors, options: dict[str, Any], *, short: bool
    ) -> Any:
        cls = getattr(self.module, self.signature.module, None)
        if cls is None:
            raise ContractError(
                f"the file defines no module class '{self.signature.module}'"
            )
        named = dict(zip((a.name for a in self.signature.inputs), inputs))
        sizes = self._sizes(named, options)
        if short:
            options = self._not_default(options)
            sizes = {k: v for k, v in sizes.items() if not (k in SWITCHES and v)}
        network = cls(**sizes, **options)
        if not isinstance(network, torch.nn.Module):
            raise ContractError(f"{self.signature.module} is not a torch.nn.Module")
        self._check_initial(cls)
        for name in ("weight", "bias"):
            switched_off = name in named and named[name] is None
            value = named.pop(name, None)
            if value is not None:
                self._fill_parameter(network, name, value)
            elif switched_off and name in dict(network.named_parameters()):
                raise ContractError(
                    f"{self.signature.module} was made with {self._asked(sizes)}, but "
                    f"it has a parameter '{name}': register None under this name, as "
                    "torch.nn does"
                )
        return network(*named.values())

    def _asked(self, sizes: dict[str, Any]) -> str:
        """The switches of a constructor's call that are off."""
        return ", ".join(f"{k}=False" for k in SWITCHES if sizes.get(k) is False)

    def _check_initial(self, cls: Any) -> None:
        """Do new parameters spread as torch.nn's do? Once per file."""
        kind = self.signature.module
        if self.looked_at_initial or kind not in LIKE:
            return
        self.looked_at_initial = True
        mine = dict(cls(**SAMPLE[kind]).named_parameters())
        model = LIKE[kind](**SAMPLE[kind])
        for name, theirs in model.named_parameters():
            if name not in mine or mine[name].shape != theirs.shape:
                raise ContractError(
                    f"{kind} needs a parameter '{name}' of the same shape as in "
                    "torch.nn"
                )
            if not theirs.detach().std():  # one number throughout
                if not torch.equal(mine[name].detach(), theirs.detach()):
                    raise ContractError(
                        f"{kind}.{name} does not start with the values of "
                        f"torch.nn.{kind}: expected {float(theirs[0]):g} in every "
                        "element"
                    )
                continue
            bound = float(theirs.detach().abs().max())
            spread = float(mine[name].detach().std() / theirs.detach().std())
            if mine[name].detach().abs().max() > 1.2 * bound or not 0.6 < spread < 1.6:
                raise ContractError(
                    f"{kind}.{name} does not start with the distribution of "
                    f"torch.nn.{type(model).__name__}: its standard deviation is "
                    f"{spread:.2f} times as large"
                )

    def _sizes(
        self, named: dict[str, torch.Tensor | None], options: dict[str, Any]
    ) -> dict[str, Any]:
        """What the module's constructor takes besides options, read off the inputs."""
        weight, image = named.get("weight"), named.get("input")
        if self.signature.module == "LayerNorm":
            input = named["input"]
            assert input is not None
            shape = {"normalized_shape": input.shape[-1]}
            if weight is None:  # neither has a bias then, whatever `bias` says
                return {**shape, "elementwise_affine": False}
            return {**shape, "bias": named.get("bias") is not None}
        if weight is None:
            return {}
        groups = options.get("groups", 1)
        channels = image.shape[1] if image is not None and image.dim() > 1 else 1
        sizes = {
            "in_features": weight.shape[-1],
            "out_features": weight.shape[0],
            "in_channels": weight.shape[1] * groups if weight.dim() > 1 else 0,
            "out_channels": weight.shape[0],
            "kernel_size": tuple(weight.shape[2:]),
            "channels": channels,
            "multiplier": weight.shape[0] // channels if channels else 1,
            "bias": named.get("bias") is not None,
            "state_size": weight.shape[0] // 3,  # lltm: (3*H, H+IC)
            "input_features": weight.shape[-1] - weight.shape[0] // 3,
        }
        return {name: sizes[name] for name in self.signature.module_arguments}

    def _fill_parameter(
        self, network: torch.nn.Module, name: str, value: torch.Tensor
    ) -> None:
        parameter = dict(network.named_parameters()).get(name)
        if parameter is None:
            raise ContractError(f"{self.signature.module} has no parameter '{name}'")
        if parameter.shape != value.shape:
            raise ContractError(
                f"{self.signature.module}.{name} has shape {tuple(parameter.shape)}, "
                f"expected {tuple(value.shape)}"
            )
        parameter.data = value.detach().clone()


class Case:
    """One command: its tensors in shared memory, and the calls it asks for."""

    def __init__(self, task: Task, command: Command, reply: Reply) -> None:
        self.task, self.command, self.reply = task, command, reply
        signature = task.signature
        count = len(signature.inputs)
        given = [
            view(at, reply.in_base[at.slot]) if at.slot >= 0 else None
            for at in command.tensor[:SIDE_TENSORS]
        ]
        self.inputs: Tensors = given[:count]
        self.grad_outputs = [t for t in given[count:] if t is not None]
        made = len(signature.outputs) + len(signature.saved)
        self.first_gradient = SIDE_TENSORS + made
        names = [argument.name for argument in signature.inputs]
        self.wanted: list[tuple[int, torch.Tensor]] = []  # number of gradient, input
        for i, name in enumerate(signature.gradients):
            tensor = self.inputs[names.index(name)]
            if command.tensor[self.first_gradient + i].slot >= 0 and tensor is not None:
                tensor.requires_grad = True
                self.wanted.append((i, tensor))

    def run(self) -> None:
        """Forward, and backward if it is asked for; results go to their slots."""
        try:
            self._run()
        except Exception as error:
            if words := mixed_up(error, self._window()):
                error.add_note(words)
            raise

    def _window(self) -> dict[str, tuple[int, int]]:
        """What a call of fold or unfold should be given in this case."""
        options = self.task.options(bytes(self.command.options))
        given = {word: options[word] for word in WINDOW if word in options}
        right = {
            word: value if isinstance(value, tuple) else (value, value)
            for word, value in given.items()
        }
        names = [argument.name for argument in self.task.signature.inputs]
        for word, name in (("output_size", "input"), ("kernel_size", "weight")):
            tensor = self.inputs[names.index(name)] if name in names else None
            if tensor is not None and tensor.dim() == 4:
                right[word] = (tensor.shape[2], tensor.shape[3])
        if self.grad_outputs and self.grad_outputs[0].dim() == 4:
            right["output"] = tuple(self.grad_outputs[0].shape[2:])
        return right

    def _run(self) -> None:
        """The calls; what comes back goes to its slots."""
        if not self.command.run & RUN_AUDIT:
            gradients = self._call()
        else:
            rules = self.task.rules
            gradients, used, lines = audited(self._call, rules.path)
            if sentence := rules.judge(used, lines):
                raise Forbidden(sentence)
        for (i, _), gradient in zip(self.wanted, gradients):
            name = f"grad_{self.task.signature.gradients[i]}"
            if gradient is None:
                raise ContractError(
                    f"backward returned None for '{name}', but this gradient is wanted"
                )
            self._give(gradient, self.first_gradient + i, name)

    def _give(self, result: Any, position: int, name: str) -> None:
        at: WireTensor = self.command.tensor[position]
        base = self.reply.out_base[at.bank * SIDE_TENSORS + at.slot]
        give(result, at, base, f"'{name}'")

    def _call(self) -> Tensors:
        """What autograd gives for the wanted inputs; nothing if only forward runs."""
        signature = self.task.signature
        options = self.task.options(bytes(self.command.options))
        result = self.task.call(self.inputs, options, run=self.command.run)
        results = list(result) if len(signature.outputs) > 1 else [result]
        for i, output in enumerate(signature.outputs):
            self._give(results[i], SIDE_TENSORS + i, output.name)
        if not self.command.run & RUN_BACKWARD:
            return []
        if self.command.run & RUN_AUDIT:
            watch_graph(results, self.reply)
        names = signature.name, signature.module
        for tensor in results:
            if not tensor.requires_grad:
                raise ContractError(
                    "the result has no gradient function. Call Function.apply with "
                    "the arguments themselves, not with .data or detach(), and return "
                    f"its result{line_of_cut(self.task.path, *names)}"
                )
        self.task.rules.ours = True
        again = bool(self.command.run & RUN_SECOND)
        for grad in self.grad_outputs:
            grad.requires_grad = again
        try:
            gradients = torch.autograd.grad(
                results,
                [tensor for _, tensor in self.wanted],
                self.grad_outputs[: len(results)],
                allow_unused=True,
                create_graph=again,
            )
        except RuntimeError as error:
            pairs = zip(signature.inputs, self.inputs)
            given = {one.name: t for one, t in pairs if t is not None}
            factors = FACTORS.get(signature.name, ())
            if sentence := in_words(error, results, given, factors):
                raise ContractError(sentence) from error
            for node in nodes(results):
                if words := output_for_input(node, results, given, factors):
                    error.add_note(words)
            raise
        return self._second(gradients) if again else list(gradients)

    def _second(self, gradients: Sequence[torch.Tensor | None]) -> Tensors:
        """Derivatives of the gradients; those by grad_outputs replace outputs."""
        leaves = [tensor for _, tensor in self.wanted]
        self.task.rules.ours = True
        try:
            found = second_derivatives(gradients, [*leaves, *self.grad_outputs])
        except Refused:
            raise ContractError(
                "backward is marked with @once_differentiable"
            ) from None
        for i, change in enumerate(found[len(leaves) :]):
            name = self.task.signature.outputs[i].name
            self._give(change, SIDE_TENSORS + i, f"second derivative by grad_{name}")
        return [*found[: len(leaves)]]
