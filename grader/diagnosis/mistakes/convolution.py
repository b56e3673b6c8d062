# SPDX-License-Identifier: MIT
"""The convolution of conv2d and depthwise_conv2d, with windows that are altered."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import torch

from grader.diagnosis.mistakes import formulas
from grader.diagnosis.mistakes.mistake import Formula, Mistake, Setting
from grader.diagnosis.mistakes.wrong_windows import Alter, Window, padded, reads
from grader.operators.entry import Tensors

T = torch.Tensor


def groups_of(s: Setting) -> int:
    """As many as the options say; depthwise has one for every input channel."""
    return int(s.options.get("groups", s.inputs["input"].shape[1]))


def window(s: Setting) -> Window:
    """The right window of a case."""
    o = s.options
    result = s.grads[0] if s.grads else s.truth["output"]
    kernel = s.inputs["weight"].shape[2:]
    size = result.shape[2:]
    return Window(
        (kernel[0], kernel[1]),
        o["stride"],
        o["padding"],
        o["dilation"],
        (size[0], size[1]),
    )


def slide(
    s: Setting, inputs: Tensors, w: Window, *, groups: int | None = None
) -> T | None:
    """torch's conv2d with these windows."""
    image = padded(inputs["input"], w)
    if image is None:
        return None
    made: T = torch.nn.functional.conv2d(
        image.contiguous(),
        inputs["weight"].contiguous(),
        inputs.get("bias"),
        groups=groups or groups_of(s),
        **w.options,
    )
    return made[..., : w.windows[0], : w.windows[1]]


def windowed(alter: Alter) -> Formula:
    """A forward whose window is altered; backward its derivative."""
    return formulas.through(lambda s, inputs: slide(s, inputs, alter(window(s))))


def by_filter(channels: Callable[[T, T, int, int, int], T]) -> Formula:
    """Filter oc reads, as its ic-th channel, the input channel that `channels` says."""

    def forward(s: Setting, inputs: Tensors) -> T | None:
        OC, IC = inputs["weight"].shape[:2]
        G = groups_of(s)
        oc, ic = torch.arange(OC)[:, None], torch.arange(IC)[None, :]
        chosen = channels(oc, ic, OC, IC, G).expand(OC, IC).flatten()
        beyond = chosen >= inputs["input"].shape[1]
        image = inputs["input"][:, chosen.clamp(max=inputs["input"].shape[1] - 1)]
        image = torch.where(beyond[:, None, None], formulas.UNKNOWN, image)
        return slide(s, {**inputs, "input": image}, window(s), groups=OC)

    return formulas.through(forward)


# ---- the windows of one place --------------------------------------------------------


def _last_left_out(s: Setting, inputs: Tensors, *, down: int, right: int) -> T | None:
    """Each place of the kernel misses the last windows in which it reads inside of the
    image: those whose neighbour below or to the right reads outside.
    """
    w = window(s)
    OH, OW = w.windows
    wider = replace(w, windows=(OH + 1, OW + 1))
    found = reads(wider, inputs["input"].shape[2:])  # (KH*KW, (OH+1)*(OW+1))
    if found is None:
        return None
    inside = (found > 0).unflatten(1, wider.windows)
    kept = inside[:, :OH, :OW] & inside[:, down:, right:][:, :OH, :OW]
    places = torch.eye(len(kept), dtype=torch.float64)
    weight = inputs["weight"]
    made = slide(s, {**inputs, "weight": 0 * weight}, w)  # the bias alone
    for place, windows in zip(places.unflatten(1, weight.shape[2:]), kept):
        alone = slide(s, {"input": inputs["input"], "weight": weight * place}, w)
        assert made is not None and alone is not None
        made = made + alone * windows
    return made


def range_one_short() -> Mistake:
    """A count of windows that lacks its + 1, along the rows, the columns or both."""
    forms: Iterator[Formula] = (
        formulas.through(partial(_last_left_out, down=down, right=right))
        for down, right in ((1, 1), (1, 0), (0, 1))
    )
    return Mistake(
        "range_one_short",
        "the last window is skipped at each kernel position: the count is last - "
        "first + 1, not last - first",
        tuple(forms),
    )
