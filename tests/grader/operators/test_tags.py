# SPDX-License-Identifier: MIT
"""The words that lab.toml and the points have for cases."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator

import pytest
from signatures import SIGNATURES

from grader import operators
from grader.operators import Case
from tests import ROOT

SEED = 3
TAGS = {  # a case's tags but for `all`
    ("conv2d", "pointwise"): {"small_kernel", "pointwise"},
    ("conv2d", "one_by_one_strided"): {"small_kernel", "few_channels"},
    ("conv2d", "tiles"): {"small_kernel", "winograd_3x3", "winograd_many_channels"},
    ("conv2d", "tiles_parts"): {"small_kernel", "grouped_or_dilated"},
    ("conv2d", "empty_batch"): {"small_kernel", "few_channels", "packed_filters"},
    ("conv2d", "gaps"): {"small_kernel", "few_channels"},  # of weight
    ("depthwise_conv2d", "planes"): {
        *("non_empty", "small_kernel", "single_filter"),
        *("three_or_five_rows", "three_or_five_rows_stride_1"),
    },
    ("depthwise_conv2d", "narrow"): {
        *("non_empty", "small_kernel", "strided_or_multiplied", "narrow"),
        *("three_or_five_rows", "three_or_five_rows_stride_1"),
    },
    ("add", "row"): {"input_not_stretched"},
    ("add", "count_1025"): {
        *("not_stretched", "input_not_stretched", "other_not_stretched", "packed"),
    },
    ("add", "grad_strided"): set(),
    ("gelu", "strided"): set(),
    ("gelu", "count_1027"): {"packed"},
    ("matmul", "tiles_of_views"): {"packs_of_4", "packs_of_8", "k_multiple_of_4"},
    ("matmul", "edges_of_four"): {"packs_of_4", "k_multiple_of_4"},
    ("linear", "packs"): {"packs_of_8"},
    ("linear", "small"): set(),
    ("layer_norm", "whole_vectors"): {
        *("short_rows", "whole_vectors", "short_whole_vectors", "packed_rows"),
    },
    ("layer_norm", "no_rows"): {"short_rows"},
}
FAMILIES = {
    ("conv2d", "plain"): "plain",
    ("conv2d", "stride_w"): "stride",
    ("conv2d", "padding_h"): "padding",
    ("conv2d", "dilated_and_strided"): "dilation",
    ("conv2d", "all_options"): "groups",
    ("conv2d", "transposed"): "layout",
    ("conv2d", "empty_batch"): "empty",
    ("linear", "rows_beyond_16_bits"): "large",
    ("unfold", "plain"): "plain",
    ("subm_conv3d", "dilated"): "dilation",
    ("add", "empty_from_one"): "empty",
}


def case_of(operator: str, name: str) -> Case:
    return next(c for c in operators.get(operator).cases(SEED) if c.name == name)


def named() -> Iterator[tuple[str, str]]:
    """The operators and tags of every `covers` and `numerics` in a lab.toml."""
    for file in (ROOT / "labs").glob("*/lab.toml"):
        rungs = tomllib.loads(file.read_text()).get("rung", {})
        for rung, entry in rungs.items():
            covers, numerics = entry.get("covers", []), entry.get("numerics", {})
            lists = list(covers.values()) if isinstance(covers, dict) else [covers]
            lists += numerics.values() if isinstance(numerics, dict) else []
            yield from ((rung.split("/")[0], word) for words in lists for word in words)


@pytest.mark.parametrize("operator, name", TAGS)
def test_a_case_has_the_tags_of_its_sizes_and_options(operator: str, name: str) -> None:
    tags = operators.get(operator).tags(case_of(operator, name))
    fitting = {word for word, fits in tags.items() if fits}
    assert fitting - {"all"} == TAGS[operator, name]


@pytest.mark.parametrize("name", SIGNATURES)
def test_every_tag_fits_a_case_of_the_file(name: str) -> None:
    operator = operators.get(name)
    tags = [operator.tags(case) for case in operator.cases(SEED, drawn=0)]
    assert all(any(of[word] for of in tags) for word in tags[0])


FOR_FILES_OF_ONES_OWN = {("unfold", "stride_1")}


def test_a_lab_names_all_tags_and_no_others() -> None:
    listed = {
        (name, word)
        for name in SIGNATURES
        for word in operators.get(name).tags(operators.get(name).cases(SEED)[0])
    }
    assert listed - set(named()) == FOR_FILES_OF_ONES_OWN
    assert set(named()) <= listed


@pytest.mark.parametrize("operator, name", FAMILIES)
def test_a_case_is_of_the_first_family_that_fits(operator: str, name: str) -> None:
    found = operators.get(operator).family(case_of(operator, name))
    assert found == FAMILIES[operator, name]
