# SPDX-License-Identifier: MIT
"""Known mistakes of conv2d."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import torch

from grader.diagnosis.mistakes import conv_sums, formulas, wrong_windows
from grader.diagnosis.mistakes.convolution import (
    by_filter,
    groups_of,
    range_one_short,
    slide,
    window,
    windowed,
)
from grader.diagnosis.mistakes.mistake import Formula, Mistake, Setting
from grader.diagnosis.mistakes.parts import batch_ignored, last_tile
from grader.diagnosis.mistakes.strides import strides_ignored
from grader.diagnosis.mistakes.wrong_bias import Index, averages, bias_index
from grader.diagnosis.mistakes.wrong_windows import Window
from grader.operators.entry import Tensors

T = torch.Tensor


# ---- kernel --------------------------------------------------------------------------


def _flips() -> Iterator[Formula]:
    for axes in ([2, 3], [2], [3]):

        def flip(s: Setting, a: list[int] = axes) -> Setting:
            return s.input(weight=s.inputs["weight"].flip(a))

        def flipped(t: T, _: Setting, a: list[int] = axes) -> T:
            return t.flip(a)

        yield from formulas.misread(flip)
        yield formulas.answered("grad_weight", flipped)


def _kernel_axes() -> Iterator[Formula]:
    for flat in (True, False):

        def turned(s: Setting, f: bool = flat) -> Setting:
            return s.input(weight=formulas.swapped(s.inputs["weight"], flat=f))

        def image_turned(s: Setting, f: bool = flat) -> Setting:
            return s.input(input=formulas.swapped(s.inputs["input"], flat=f))

        yield from formulas.misread(turned)
        yield from formulas.misread(image_turned, "grad_weight")

    def read(s: Setting) -> Setting:
        weight = s.inputs["weight"]
        return s.input(weight=weight.mT.reshape(weight.shape))

    yield from formulas.misread(read)

    def written(t: T, _: Setting) -> T:
        return t.mT.reshape(t.shape)

    yield formulas.answered("output", written)
    yield formulas.answered("grad_input", written)
    yield formulas.forward_only(formulas.through(_wide_kernel))


def _wide_kernel(s: Setting, inputs: Tensors) -> T | None:
    """KH and KW changed for each other in the loops and in memory."""
    w, weight = window(s), inputs["weight"]
    turned = weight.reshape(*weight.shape[:2], weight.shape[3], weight.shape[2])
    wrong = Window(
        (w.kernel[1], w.kernel[0]), w.stride, w.padding, w.dilation, w.windows
    )
    return slide(s, {**inputs, "weight": turned}, wrong)


# ---- groups --------------------------------------------------------------------------


def _ungrouped(s: Setting, inputs: Tensors) -> T | None:
    """Every filter reads all channels, and weights beyond its own for them."""
    weight = inputs["weight"]
    size = [weight.shape[0], inputs["input"].shape[1], *weight.shape[2:]]
    wide = formulas.taken_for(weight, size, weight.stride())
    return slide(s, {**inputs, "weight": wide}, window(s), groups=1)


def _dealt(s: Setting, inputs: Tensors) -> T | None:
    """Filters dealt out to the groups one by one, as cards are."""
    weight, G = inputs["weight"], groups_of(s)
    dealt = weight.unflatten(0, (-1, G)).transpose(0, 1).flatten(0, 1)
    return slide(s, {**inputs, "weight": dealt}, window(s))


def _groups() -> Iterator[Formula]:
    yield formulas.through(_dealt)
    yield by_filter(lambda oc, ic, OC, IC, G: ic)
    yield by_filter(lambda oc, ic, OC, IC, G: ic * G + oc // (OC // G))
    yield by_filter(lambda oc, ic, OC, IC, G: oc % G * IC + ic)
    yield by_filter(lambda oc, ic, OC, IC, G: oc // G * IC + ic)
    yield by_filter(lambda oc, ic, OC, IC, G: oc // (OC // G) + ic)
    yield formulas.through(_ungrouped)


# ---- bias ----------------------------------------------------------------------------


def _times(count: Callable[[Setting], Any]) -> Formula:
    """The bias added so many times."""

    def forward(s: Setting, inputs: Tensors) -> T | None:
        made = slide(s, {**inputs, "bias": None}, window(s))  # type: ignore[dict-item]
        if made is None or "bias" not in inputs:
            return made
        added: T = count(s) * inputs["bias"].reshape(-1, 1, 1)
        return made + added

    return formulas.through(forward)


def _taps_inside(s: Setting) -> T | None:
    """How many products each window really has, those outside of the image left out."""
    ones = {k: torch.ones_like(v) for k, v in s.inputs.items() if k != "bias"}
    return slide(s, ones, window(s))


def _per_channel() -> Iterator[Formula]:
    def shape(s: Setting) -> tuple[int, ...]:
        return tuple(s.inputs["weight"].shape)

    for count in (
        lambda s: shape(s)[1],
        lambda s: s.inputs["input"].shape[1],
        lambda s: shape(s)[2] * shape(s)[3],
        lambda s: shape(s)[1] * shape(s)[2] * shape(s)[3],
        _taps_inside,
        lambda s: shape(s)[2],
        lambda s: shape(s)[1] * shape(s)[2],
    ):
        # forward alone: a gradient too large has many causes
        yield formulas.forward_only(_times(count))


def _averaged(name: str) -> Iterator[Formula]:
    """A gradient divided by something it is a sum over."""
    for axes in ([0], [2, 3], [0, 2, 3], [2], [3]):

        def average(t: T, s: Setting, a: list[int] = axes) -> T:
            return t / max(1, torch.Size(s.grads[0].shape[i] for i in a).numel())

        yield formulas.answered(name, average)


def _bias_indices() -> Iterator[Index]:
    """What stands in place of oc; axes are n, oc, oh, ow."""
    yield lambda s, axes: axes[0]
    yield lambda s, axes: axes[2]
    yield lambda s, axes: axes[3]
    yield lambda s, axes: 0 * axes[1]
    yield lambda s, axes: _filters(s) - 1 - axes[1]
    yield lambda s, axes: axes[1] // (_filters(s) // groups_of(s))  # the group
    yield lambda s, axes: axes[1] % (_filters(s) // groups_of(s))  # within the group
    yield lambda s, axes: axes[1] % groups_of(s)


def _filters(s: Setting) -> int:
    return s.inputs["weight"].shape[0]


# ---- gradients -----------------------------------------------------------------------


def _weight_transposed() -> Iterator[Formula]:
    """Every order in which a gradient of the weight can be laid out but the right."""
    for order in wrong_windows.flat_orders(4):

        def laid_out(t: T, _: Setting, o: Any = order) -> T:
            return t.permute(o).reshape(t.shape)

        yield formulas.answered("grad_weight", laid_out)

    def by_group(t: T, s: Setting) -> T:
        return t.reshape(groups_of(s), -1, t[0].numel()).mT.reshape(t.shape)

    yield formulas.answered("grad_weight", by_group)
    for axes in ((2, 3), (0, 1)):

        def turned(t: T, _: Setting, a: tuple[int, int] = axes) -> T:
            same = t.shape[a[0]] == t.shape[a[1]]
            return t.transpose(*a) if same else torch.full_like(t, formulas.UNKNOWN)

        yield formulas.answered("grad_weight", turned)


def _not_flipped() -> Iterator[Formula]:
    for axes in ([2, 3], [2], [3]):

        def flip(s: Setting, a: list[int] = axes) -> Setting:
            return s.input(weight=s.inputs["weight"].flip(a))

        yield formulas.only("grad_input", formulas.altered(flip))
    yield formulas.only("grad_input", formulas.through(_mirrored))


def _mirrored(s: Setting, inputs: Tensors) -> T | None:
    """Forward's signs on the way back: the kernel flipped, and with it the place of its
    corner.
    """
    w = window(s)
    reach = [d * (k - 1) - p for d, k, p in zip(w.dilation, w.kernel, w.padding)]
    mirror = replace(w, padding=(reach[0], reach[1]))
    return slide(s, {**inputs, "weight": inputs["weight"].flip([2, 3])}, mirror)


def _uncropped(pick: Callable[[T, T], T]) -> Formula:
    """The gradient of the padded image, cut from it in another way."""

    def change(t: T, s: Setting) -> T | None:
        p = s.options["padding"]
        widths = (p[1], p[1], p[0], p[0])
        image = torch.nn.functional.pad(s.inputs["input"], widths)
        wide = s.input(input=image).option(padding=(0, 0))
        made = formulas.altered(lambda _: wide)(wide)
        whole = made["grad_input"] if made else None
        return None if whole is None else pick(whole, t)

    return formulas.only("grad_input", formulas.answered("grad_input", change))


def _not_cropped() -> Iterator[Formula]:
    yield _uncropped(lambda w, t: w[..., : t.shape[2], : t.shape[3]])
    yield _uncropped(lambda w, t: w.flatten(2)[..., : t[0, 0].numel()].reshape(t.shape))
    yield _uncropped(lambda w, t: w.flatten()[: t.numel()].reshape(t.shape))
    yield _uncropped(lambda w, t: w[..., : t.shape[2], -t.shape[3] :])
    yield _uncropped(lambda w, t: w[..., -t.shape[2] :, -t.shape[3] :])


# ---- the list ------------------------------------------------------------------------

MISTAKES = (
    Mistake(
        "gradient_not_flipped",
        "in this gradient the kernel has the wrong orientation: output and input must "
        "meet at forward's kernel position",
        tuple(_not_flipped()),
    ),
    Mistake(
        "gradient_not_cropped",
        "this is the gradient of the padded image: crop the padding, or subtract it "
        "from ih and iw",
        tuple(_not_cropped()),
    ),
    Mistake(
        "kernel_flipped",
        "the kernel is flipped: PyTorch's conv2d is a cross-correlation and does not "
        "flip the kernel",
        tuple(_flips()),
    ),
    Mistake(
        "hw_swapped",
        "height and width are exchanged somewhere: h comes first in every pair and "
        "every shape",
        (*map(windowed, wrong_windows.options_swapped()), *_kernel_axes()),
    ),
    *wrong_windows.ignored(windowed),
    range_one_short(),
    Mistake(
        "groups_ignored",
        "filters read the channels of another group: which channels belong to filter "
        "oc?",
        tuple(_groups()),
    ),
    formulas.bias_missing(),
    Mistake(
        "padding_and_bias_missing",
        "two mistakes: the padding and the bias are missing",
        tuple(
            formulas.without_bias(windowed(alter))
            for alter in wrong_windows.padding_ignored()
        ),
    ),
    Mistake(
        "kernel_flipped_without_bias",
        "two mistakes: the kernel is flipped (PyTorch's conv2d does not flip it), and "
        "the bias is missing",
        tuple(formulas.without_bias(flip) for flip in _flips()),
    ),
    Mistake(
        "bias_per_channel",
        "the bias is added several times, for every channel or kernel position: add "
        "it once to the whole sum",
        tuple(_per_channel()),
    ),
    *averages(_averaged, "the samples or the windows"),
    bias_index(_bias_indices(), channel=1),
    *conv_sums.MISTAKES,
    Mistake(
        "weight_gradient_transposed",
        "the numbers are right, but the axes are in another order",
        tuple(_weight_transposed()),
    ),
    Mistake(
        "batch_ignored",
        "only one sample of the batch is used",
        tuple(batch_ignored("output", "grad_input")),
    ),
    Mistake(
        "last_tile_forgotten",
        "a loop ends too early: the last row, column, channel or incomplete tile is "
        "missing",
        tuple(last_tile()),
    ),
    strides_ignored("input", "weight", "bias"),
)
