# SPDX-License-Identifier: MIT
"""Known mistakes of depthwise_conv2d: the mistakes of conv2d without groups, and more.

A channel has M = OC/IC filters, which lie side by side.
"""

from __future__ import annotations

from functools import partial

from grader.diagnosis.mistakes.conv2d import of_convolution
from grader.diagnosis.search import sum_mistakes

known = partial(sum_mistakes.known, "depthwise_conv2d")

MISTAKES = (
    known(
        "multiplier_index",
        "filters read the wrong channel: the OC/IC filters of one channel follow one "
        "another",
        *("* input channel = oc*", "* input channel = ic", "* input channel = filter*"),
        *("* input channel = (GROUP - 1*", "* weight oc = group + filter*G"),
    ),
    known(
        "first_filter_only",
        "only one of the filters of a channel is used: with OC = 2*IC each channel has "
        "two, and two outputs",
        *("output first filter", "grad_* first filter", "grad_* last filter"),
        *("output weight oc = group", "grad_input weight oc = group"),
        *("output weight oc = group*OC/G", "grad_input weight oc = group*OC/G"),
        *("output weight oc = *(FILTER - 1)", "grad_input weight oc = *(FILTER - 1)"),
    ),
    known(
        "gradients_on_first_filter",
        "the gradients of all filters of a channel are added to its first filter: "
        "each filter has its own gradient",
        *("grad_weight weight oc = group*OC/G", "grad_bias bias oc = group*OC/G"),
    ),
    *(m for m in of_convolution("depthwise_conv2d") if m.name != "groups_ignored"),
)
