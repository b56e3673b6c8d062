# SPDX-License-Identifier: MIT
"""A line that calls fold or unfold is told the order of their arguments."""

from __future__ import annotations

import pytest

from grader.runner.worker.torch_calls import order_of


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("x = torch.nn.functional.fold(", "fold(input, output_size, kernel_size"),
        ("col = F.unfold(x, 3)", "unfold(input, kernel_size, dilation, padding"),
        ("x = x.unfold(0, 2, 1)", ""),  # a tensor's own: another function
        ("F.fold(F.unfold(x, 3), (4, 4), 3)", ""),
        (None, ""),
    ],
)
def test_the_order_is_told_of_a_line_with_one_call(line, words):
    assert words in order_of(line) and bool(words) == bool(order_of(line))
