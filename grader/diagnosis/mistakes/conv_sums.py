# SPDX-License-Identifier: MIT
"""Makes wrong convolution sums, in which only one term of each sum stays."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from grader.diagnosis.mistakes import formulas
from grader.diagnosis.mistakes.convolution import groups_of, window, windowed
from grader.diagnosis.mistakes.mistake import Answers, Formula, Mistake, Setting
from grader.diagnosis.mistakes.wrong_windows import (
    Alter,
    Window,
    padding_ignored,
    reads,
    winners,
)

T = torch.Tensor
# ---- one term stays ------------------------------------------------------------------


def last_product(alter: Alter, *, skips: bool) -> Formula:
    """grad_weight holds its last product, of the last sample and the last window; with
    `skips` of the last window that reads the image there, not the padding.
    """

    def formula(s: Setting) -> Answers:
        weight, image = s.inputs["weight"], s.inputs["input"][-1]
        if "grad_weight" not in s.truth:
            return {}
        read = reads(alter(window(s)), image.shape[-2:])  # (KH*KW, OH*OW)
        if read is None:
            return {"grad_weight": None}
        windows = torch.arange(read.shape[1]).expand(read.shape)
        last = torch.where(read > 0, windows, -1).amax(1) if skips else windows[:, -1]
        place = torch.arange(len(read))
        element = torch.where(last < 0, 0, read[place, last])  # 0: of the padding
        x = torch.nn.functional.pad(image.flatten(1), (1, 0))[:, element]  # (C, KH*KW)
        grad = s.grads[0][-1].flatten(1)[:, last]  # (OC, KH*KW)
        products = grad[:, None] * x[_channels(s)]  # (OC, IC/G, KH*KW)
        return {"grad_weight": products.reshape(weight.shape)}

    return formulas.backward_only(formula)


def _channels(s: Setting) -> T:
    """(OC, IC/G): the channel that each filter reads as its ic-th one."""
    OC, IC = s.inputs["weight"].shape[:2]
    group = torch.arange(OC) // (OC // groups_of(s))
    return group[:, None] * IC + torch.arange(IC)


def _last_write(*, by_window: bool) -> Formula:
    """grad_input holds what was written last, by the last filter of each group."""

    def formula(s: Setting) -> Answers:
        weight, image = s.inputs["weight"], s.inputs["input"]
        if "grad_input" not in s.truth:
            return {}
        read = reads(window(s), image.shape[-2:])  # (KH*KW, OH*OW)
        assert read is not None
        writes = read.mT if by_window else read
        last = winners(writes.flatten(), image[0, 0].numel(), last=True) - 1  # (IH*IW)
        at = last.clamp(min=0)
        inner = writes.shape[1]
        outer, within = at // inner, at % inner
        place, w = (within, outer) if by_window else (outer, within)
        C, G, (OC, IC) = image.shape[1], groups_of(s), weight.shape[:2]
        channel = torch.arange(C)
        oc = (channel // IC + 1) * (OC // G) - 1  # the last filter of the group
        factor = weight.flatten(2)[oc, channel % IC][:, place]  # (C, IH*IW)
        made = s.grads[0].flatten(2)[:, oc][..., w] * factor  # (N, C, IH*IW)
        return {"grad_input": torch.where(last < 0, 0.0, made).reshape(image.shape)}

    return formulas.backward_only(formula)


def _one_term() -> Iterator[Formula]:
    for skips in (True, False):
        yield last_product(_right, skips=skips)
    for by_window in (True, False):
        yield _last_write(by_window=by_window)


def _right(w: Window) -> Window:
    return w


def _without_padding() -> Iterator[Formula]:
    """Two mistakes: no padding, and grad_weight keeps its last product."""
    for alter in padding_ignored():
        pair = formulas.both(windowed(alter), last_product(alter, skips=True))
        yield formulas.backward_only(pair)


MISTAKES = (
    Mistake("accumulation_missing", formulas.ONE_TERM, tuple(_one_term())),
    Mistake(
        "padding_and_accumulation_missing",
        "two mistakes. The padding is missing. Each sum in the weight's gradient "
        "keeps only one term: is = used instead of +=?",
        tuple(_without_padding()),
    ),
)
