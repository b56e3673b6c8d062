# SPDX-License-Identifier: MIT
"""Known mistakes of conv2d, as edits of its sum (grader/diagnosis/search)."""

from __future__ import annotations

from collections.abc import Callable

from grader.diagnosis.mistakes import formulas, shared_by_images
from grader.diagnosis.mistakes.mistake import Mistake
from grader.diagnosis.mistakes.strides import strides_ignored
from grader.diagnosis.search import sum_mistakes

FLIPPED = ("weight flipped", "weight kh = KH - 1 - kh", "weight kw = KW - 1 - kw")


def _known(
    name: str, sentence: str, *keys: str
) -> Callable[[str], tuple[Mistake, ...]]:
    """A mistake of the operator that is asked for."""
    return lambda operator: (sum_mistakes.known(operator, name, sentence, *keys),)


PARTS: tuple[Callable[[str], tuple[Mistake, ...]], ...] = (
    _known(
        "gradient_not_flipped",
        "in this gradient the kernel has the wrong orientation: output and input "
        "must meet at forward's kernel position",
        *(f"grad_input {key}" for key in FLIPPED),
        "grad_input input signs turned",
    ),
    _known(
        "gradient_not_cropped",
        "this is the gradient of the padded image: crop the padding, or subtract "
        "it from ih and iw",
        *("grad_input input -padding=0 hw", "grad_input uncropped *"),
        "grad_input input -padding=-2*padding hw",
    ),
    _known(
        "kernel_flipped",
        "the kernel is flipped: PyTorch's conv2d is a cross-correlation and does "
        "not flip the kernel",
        *(f"output {key}" for key in FLIPPED),
        *(f"grad_* {key}" for key in FLIPPED),
    ),
    _known(
        "hw_swapped",
        shared_by_images.HW_SWAPPED,
        *("* input options of *", "* input ih-iw", "output weight kh-kw"),
        *("* input stored n, channel, iw, ih", "output weight stored *, kw, kh"),
        *("grad_input weight kh-kw", "grad_input weight stored *, kw, kh"),
        *("output output stored n, oc, ow, oh", "output kernel kh-kw"),
        *("output weight written kw, kh", "grad_input weight written kw, kh"),
    ),
    shared_by_images.ignored,
    _known(
        "range_one_short",
        "the last window is skipped at each kernel position: the count is last - "
        "first + 1, not last - first",
        "* hidden 0,stride *",
    ),
    _known(
        "groups_ignored",
        "filters read the channels of another group: which channels belong to "
        "filter oc?",
        *("* weight oc = group + filter*G", "* input channel = ic"),
        *("* input channel = group + ic*G", "* input channel = oc %*"),
        *("* input channel = oc //*", "* input channel = group + ic"),
        "* all channels",
    ),
    lambda _: (formulas.bias_missing(),),
    _known(
        "padding_and_bias_missing",
        "two mistakes: the padding and the bias are missing",
        "without bias input -padding=0 *",
    ),
    _known(
        "kernel_flipped_without_bias",
        "two mistakes: the kernel is flipped (PyTorch's conv2d does not flip it), "
        "and the bias is missing",
        *(f"without bias {key}" for key in FLIPPED),
    ),
    _known(
        "bias_per_channel",
        "the bias is added several times, for every channel or kernel position: "
        "add it once to the whole sum",
        "bias times *",
    ),
    _known(
        "bias_averaged",
        "a sum is needed, not an average",
        "grad_bias averaged over *",
    ),
    _known(
        "weight_gradient_averaged",
        "a sum over the samples or the windows is needed, not an average",
        "grad_weight averaged over *",
    ),
    _known(
        "bias_index",
        formulas.BIAS_INDEX,
        *("*bias bias oc = n", "*bias bias oc = oh", "*bias bias oc = ow"),
        *("*bias bias oc = 0", "*bias bias oc = (GROUP - 1 - group)*(FILTER*"),
        *("*bias bias oc = group", "*bias bias oc = filter"),
        "*bias bias oc = oc % G",
    ),
    _known(
        "accumulation_missing",
        formulas.ONE_TERM,
        *("grad_weight kept *", "grad_weight last n,oh,ow", "grad_input kept *"),
        *("output kept *", "without bias kept *"),
    ),
    _known(
        "padding_and_accumulation_missing",
        "two mistakes. The padding is missing. Each sum in the weight's gradient "
        "keeps only one term: is = used instead of +=?",
        *("grad_weight unpadded kept *", "grad_input input -padding=0 *"),
    ),
    _known(
        "weight_gradient_transposed",
        "the numbers are right, but the axes are in another order",
        "grad_weight weight stored *",
        *("grad_weight weight kh-kw", "grad_weight weight oc-ic"),
    ),
    _known(
        "batch_ignored",
        "only one sample of the batch is used",
        *("output first n", "output last n", "grad_* first n", "grad_* last n"),
        *("output input n = 0", "output input n = N - 1"),
        *("grad_weight input n = 0", "grad_weight input n = N - 1"),
        *("grad_* output n = 0", "grad_* output n = N - 1", "grad_* all n = *"),
    ),
    _known(
        "last_tile_forgotten",
        "a loop ends too early: the last row, column, channel or incomplete tile "
        "is missing",
        *("output tail *", "grad_* tail *"),
    ),
    lambda _: (strides_ignored("input", "weight", "bias"),),
)


def of_convolution(operator: str) -> tuple[Mistake, ...]:
    """The mistakes that conv2d shares with depthwise_conv2d."""
    return tuple(mistake for part in PARTS for mistake in part(operator))


MISTAKES = of_convolution("conv2d")
