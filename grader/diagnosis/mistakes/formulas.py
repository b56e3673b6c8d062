# SPDX-License-Identifier: MIT
"""The parts of formulas: altered operators and answers, misread memory, lost tiles.

Two values in the answers are special: NaN says "whatever lay there in memory", and
infinity "never written".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch

from grader.diagnosis.mistakes.mistake import Answers, Formula, Mistake, Setting
from grader.operators.entry import Tensors

UNKNOWN = math.nan
UNWRITTEN = math.inf
ONE_TERM = (  # the sentence of a sum that is none, for every operator
    "each sum keeps only its first or its last term: is = used instead of +=?"
)
BIAS_INDEX = "the bias is used at a wrong index: output channel oc needs element oc"
TILES = (1, 2, 3, 4, 6, 8, 16, 32)  # 1: exactly the last one is forgotten

Results = torch.Tensor | tuple[torch.Tensor, ...] | None


# ---- from a change to a formula ------------------------------------------------------


def through(forward: Callable[[Setting, Tensors], Results]) -> Formula:
    """A wrong forward; backward it is differentiated."""

    def formula(setting: Setting) -> Answers | None:
        if not setting.grads:
            said = _several(forward(setting, setting.inputs))
            return dict(zip(setting.results, said or [None] * len(setting.results)))
        leaves = {
            name: t.detach().requires_grad_(t.is_floating_point())
            for name, t in setting.inputs.items()
        }
        names = [name.removeprefix("grad_") for name in setting.truth]
        made = _several(forward(setting, leaves))
        if not made or any(m.shape != g.shape for m, g in zip(made, setting.grads)):
            return None
        pairs = [(m, g) for m, g in zip(made, setting.grads) if m.requires_grad]
        if not pairs:
            return {f"grad_{n}": torch.zeros_like(leaves[n]) for n in names}
        found = torch.autograd.grad(
            [result for result, _ in pairs],
            [leaves[name] for name in names],
            [grad for _, grad in pairs],
            allow_unused=True,
            materialize_grads=True,
        )
        return {f"grad_{name}": value for name, value in zip(names, found)}

    return formula


def _several(results: Results) -> tuple[torch.Tensor, ...]:
    """The results of a forward; none if it cannot tell."""
    if results is None:
        return ()
    return (results,) if isinstance(results, torch.Tensor) else results


def reference(setting: Setting, inputs: Tensors) -> torch.Tensor | None:
    """PyTorch's own forward on these inputs, of an operator with one result."""
    made = references(setting, inputs)
    return made if isinstance(made, torch.Tensor) else None


def references(setting: Setting, inputs: Tensors) -> Results:
    """PyTorch's own forward on these inputs, as `through` wants it."""
    names = [a.name for a in setting.operator.signature.inputs]
    dense = [inputs[n].contiguous() if n in inputs else None for n in names]
    made: Results = setting.operator.reference(*dense, **setting.options)
    return made


def altered(change: Callable[[Setting], Setting]) -> Formula:
    """The right operator on altered inputs, options or grad_outputs."""
    return lambda setting: through(references)(change(setting))


def answered(
    name: str, change: Callable[[torch.Tensor, Setting], torch.Tensor | None]
) -> Formula:
    """The right answer called `name`, changed afterwards."""

    def formula(setting: Setting) -> Answers | None:
        if name not in setting.truth:
            return {}
        return {name: change(setting.truth[name], setting)}

    return formula


def forward_only(formula: Formula) -> Formula:
    """A formula that is no mistake of backward."""
    return lambda setting: {} if setting.grads else formula(setting)


def backward_only(formula: Formula) -> Formula:
    """A formula that is no mistake of forward."""
    return lambda setting: formula(setting) if setting.grads else {}


def exchanged(first: str, second: str) -> Formula:
    """Two answers of one shape, each in the other one's place."""

    def formula(setting: Setting) -> Answers | None:
        truth = setting.truth
        there = [name for name in (first, second) if name in truth]
        if len(there) < 2 or truth[first].shape != truth[second].shape:
            return dict.fromkeys(there)
        return {first: truth[second], second: truth[first]}

    return formula


def bias_missing() -> Mistake:
    """The bias left out forward, or its gradient backward, of any operator with one."""

    def without(s: Setting) -> Setting:
        return s.input(bias=s.inputs["bias"] * 0) if "bias" in s.inputs else s

    def filled(fill: float) -> Formula:
        return answered("grad_bias", lambda t, _: torch.full_like(t, fill))

    made = forward_only(altered(without)), filled(0.0), filled(UNWRITTEN)
    sentence = "the bias is missing, everything else is right"
    return Mistake("bias_missing", sentence, made)


def gradients_swapped(*made: Formula) -> Mistake:
    """That two gradients are exchanged, of any operator that has two of one shape."""
    sentence = (
        "two gradients are exchanged: each holds the numbers of the other gradient"
    )
    return Mistake("gradients_swapped", sentence, made, together=True)


# ---- memory --------------------------------------------------------------------------


def memory(tensor: torch.Tensor) -> torch.Tensor:
    """The memory from its first element to its last; NaN lies in the gaps."""
    if tensor.is_contiguous():
        return tensor.reshape(-1)
    last = sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride()))
    flat = torch.full((last + 1,), UNKNOWN, dtype=torch.float64)
    once = tuple(slice(0, 1) if s == 0 else slice(None) for s in tensor.stride())
    flat.as_strided(tensor.shape, tensor.stride())[once] = tensor[once].double()
    return flat


def taken_for(
    tensor: torch.Tensor, size: Sequence[int], stride: Sequence[int], offset: int = 0
) -> torch.Tensor:
    """Its memory read as if it had this size and these strides; NaN lies outside."""
    flat = memory(tensor)
    before = max(0, -offset)
    last = offset + sum((n - 1) * s for n, s in zip(size, stride))
    wide = torch.nn.functional.pad(
        flat, (before, max(0, last + 1 - flat.numel())), value=UNKNOWN
    )
    return wide.as_strided(size, stride, offset + before)


def row_major(size: Sequence[int]) -> list[int]:
    """The strides of a contiguous tensor."""
    return [math.prod(size[d + 1 :]) for d in range(len(size))]


def alone(tensor: torch.Tensor, axis: int, at: int, fill: float = 0.0) -> torch.Tensor:
    """What stands at one index of an axis; the rest is `fill`."""
    made = torch.full_like(tensor, fill)
    if tensor.shape[axis]:
        made.select(axis, at).copy_(tensor.select(axis, at))
    return made


# ---- what was forgotten --------------------------------------------------------------


def kept(extent: int, tile: int) -> int:
    """How many of `extent` a loop over whole tiles reaches."""
    return max(0, extent - 1) if tile == 1 else extent - extent % tile


def forget(
    tensor: torch.Tensor, axes: Sequence[int], tile: int, fill: float
) -> torch.Tensor:
    """A copy whose last, incomplete tile along each of these axes is `fill`."""
    made = tensor.clone()
    for axis in axes:
        at = kept(tensor.shape[axis], tile)
        made.narrow(axis, at, tensor.shape[axis] - at).fill_(fill)
    return made


def forget_flat(
    tensor: torch.Tensor, from_axis: int, tile: int, fill: float
) -> torch.Tensor:
    """The same along the axes from `from_axis` on, counted through as one."""
    flat = tensor.flatten(from_axis)
    return forget(flat, [flat.dim() - 1], tile, fill).reshape(tensor.shape)
