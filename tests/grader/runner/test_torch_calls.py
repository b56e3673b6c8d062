# SPDX-License-Identifier: MIT
"""A line that calls fold or unfold is told the order of their arguments."""

from __future__ import annotations

import pytest
import torch

from grader.runner.worker.torch_calls import mixed_up, order_of


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


RIGHT = {"output_size": (5, 4), "kernel_size": (2, 3), "output": (4, 2)}
RIGHT |= {"dilation": (1, 1), "padding": (0, 0), "stride": (1, 1)}


@pytest.mark.parametrize(
    ("size", "window", "words"),
    [
        (
            (5, 4),
            ((2, 3), 1, 1, 0),
            "fold got padding (1, 1), stride (0, 0), but the",
        ),
        (
            (5, 4),
            (1, (2, 3), 0, 1),
            "fold got kernel_size (1, 1), dilation (2, 3), but",
        ),
        (
            (4, 2),
            ((2, 3), 1, 0, 1),
            "got the size of the output, (4, 2), as output_size",
        ),
        ((5, 4), ((2, 3), 1, 0, 3), ""),  # one is wrong: nothing is exchanged
        ((5, 5), ((2, 3), 1, 0, 1), ""),  # the size of something else
    ],
)
def test_what_is_exchanged_in_a_call_of_fold_is_told(size, window, words):
    with pytest.raises(RuntimeError) as raised:
        torch.nn.functional.fold(torch.ones(2, 18, 8), size, *window)
    found = mixed_up(raised.value, RIGHT)
    assert words in found and bool(words) == bool(found)


def test_nothing_is_exchanged_where_the_case_has_no_window():
    with pytest.raises(RuntimeError) as raised:
        torch.nn.functional.fold(torch.ones(2, 18, 8), (4, 2), (2, 3))
    assert not mixed_up(raised.value, {"output_size": (5, 4)})
