# SPDX-License-Identifier: MIT
"""The convolution of conv2d and depthwise_conv2d, with windows that are altered."""

from __future__ import annotations

from collections.abc import Callable

import torch

from grader.diagnosis.mistakes import formulas
from grader.diagnosis.mistakes.mistake import Formula, Setting
from grader.diagnosis.mistakes.wrong_windows import Alter, Window, padded
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
