# SPDX-License-Identifier: MIT
"""A student's case: what is taken, and the sentence for each thing that is wrong."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader import operators
from grader.operators import case_file
from tests import put

GOOD = {"N": 1, "IC": 1, "IH": 3, "IW": 3, "kernel_size": [2, 2]}
CONV = {"N": 1, "IC": 1, "IH": 3, "IW": 3, "OC": 1, "KH": 1, "KW": 1}
ROWS = {"shapes": {"input": [2, 3]}, "D": 3}


def toml(words: dict[str, object]) -> str:
    """A case as text."""
    lines = []
    for word, value in words.items():
        if isinstance(value, dict):
            inner = ", ".join(f"{k} = {v!r}" for k, v in value.items())
            lines.append(f"{word} = {{ {inner} }}")
        else:
            lines.append(f"{word} = {value!r}")
    return "\n".join(lines)


def said(folder: Path, text: str, operator: str = "unfold") -> case_file.Refused:
    """What is said of a case that is refused."""
    file = put(folder / "x.case.toml", text)
    with pytest.raises(case_file.Refused) as refused:
        case_file.read(file, "x.case.toml", operators.get(operator))
    return refused.value


def test_a_case_has_the_words_of_a_line_of_our_own(tmp_path):
    words = {**GOOD, "dilation": [2, 1], "layout": {"input": "gaps"}, "values": "wide"}
    file = put(tmp_path / "x.case.toml", toml(words))
    case = case_file.read(file, "x", operators.get("unfold"))
    assert case.options == {"kernel_size": [2, 2], "dilation": [2, 1]}
    assert case.layout == {"input": "gaps"}
    assert case.gradcheck and case.values == "wide"


@pytest.mark.parametrize("operator", operators.SIGNATURES)
def test_our_own_cases_are_taken_as_far_as_they_are_small(tmp_path, operator):
    entry = operators.get(operator)
    for case in entry.cases(0, drawn=0)[:12]:
        words = {**case.sizes, **case.options}
        words |= {"shapes": case.shapes} if case.shapes else {}
        words |= {"layout": case.layout} if case.layout else {}
        words |= {"without": list(case.without)} if case.without else {}
        file = put(tmp_path / "x.case.toml", toml(words))
        try:
            assert case_file.read(file, "x", entry).sizes == case.sizes, case.name
        except case_file.Refused as refused:
            assert "numbers" in str(refused)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"IH": 2049}, "IH is 2049, expected a size from 0 to 2048"),
        ({"IH": -1}, "IH is -1, expected a size from 0 to 2048"),
        ({"IH": True}, "IH is True, expected a size"),
        ({"IH": 3.5}, "IH is 3.5, expected a size"),
        (
            {"IC": 64, "IH": 64},
            "'input' has the shape [1, 64, 64, 3], expected at most",
        ),
        ({"kernel_size": [2, 2, 2]}, "expected one number, or 2 in a list"),
        ({"kernel_size": [2]}, "expected 2 numbers in a list"),
        ({"kernel_size": "big"}, "kernel_size is 'big', expected whole numbers from 0"),
        ({"padding": 1000}, "padding is 1000, expected whole numbers from 0 to 16"),
        ({"kernel_size": [4, 4]}, "PyTorch's own unfold refuses this case"),
        ({"stride": 0}, "PyTorch's own unfold refuses this case"),
        ({"OC": 2}, "unknown key 'OC' in a case of unfold, expected some of IC, IH"),
        ({"name": "x"}, "unknown key 'name'"),
        ({"strides": 2}, "in a case of unfold (did you mean 'stride'?), expected"),
        ({"gradcheck": True}, "unknown key 'gradcheck'"),
        ({"layout": {"input": "twisted"}}, "expected layouts among contiguous"),
        ({"layout": {"weight": "gaps"}}, "expected a table of input, grad_output"),
        ({"layout": "gaps"}, "layout is 'gaps', expected a table"),
        ({"without": ["input"]}, "expected a list of some of nothing"),
        (
            {"wanted": ["output"]},
            "wanted is ['output'], expected a list of some",
        ),
        ({"values": "odd"}, "values is 'odd', expected one of normal, wide"),
        ({"shapes": {"input": [1, 2, 3, "a"]}}, "expected lists of sizes from 0"),
    ],
)
def test_a_wrong_word_is_told_with_what_was_expected(tmp_path, changed, sentence):
    refused = said(tmp_path, toml({**GOOD, **changed}).replace("True", "true"))
    assert str(refused).startswith("x.case.toml: ") and sentence in str(refused)


def test_what_is_missing_is_named(tmp_path):
    assert "IW" in str(said(tmp_path, "N = 1\nIC = 1\nIH = 2\nkernel_size = 1"))
    lacks = said(tmp_path, "N = 1\nIC = 1\nIH = 2\nIW = 2")
    assert "option 'kernel_size' is missing" in str(lacks)


@pytest.mark.parametrize("text", ["", "# nothing but a comment\n"])
def test_a_file_without_a_word_is_told_what_to_write(tmp_path, text):
    words = "x.case.toml holds no case: write its sizes and options, one per line, "
    assert str(said(tmp_path, text)).startswith(words)


def test_a_line_that_is_no_toml_is_named(tmp_path):
    refused = said(tmp_path, "N = 1\nIC = = 2")
    assert str(refused).startswith("x.case.toml:2 is not valid TOML: ")
    assert refused.location == "x.case.toml:2"


def test_a_file_that_is_gone_or_no_text_or_huge_is_refused(tmp_path):
    entry = operators.get("unfold")
    with pytest.raises(case_file.Refused, match=r"no such file.*; make reset T= puts"):
        case_file.read(tmp_path / "gone.case.toml", "gone.case.toml", entry)
    (tmp_path / "x").write_bytes(b"\xff\xfe")
    with pytest.raises(case_file.Refused, match="not valid TOML"):
        case_file.read(tmp_path / "x", "x", entry)
    assert "bytes" in str(said(tmp_path, "#" * 100_000))
    assert "not valid TOML" in str(said(tmp_path, "N = " + "[" * 50_000))


def test_options_of_other_kinds(tmp_path):
    row = {"shapes": {"input": [2]}, "approximate": "sigmoid"}
    assert "expected one of 'none', 'tanh'" in str(said(tmp_path, toml(row), "gelu"))
    eps = said(tmp_path, toml({**ROWS, "eps": "tiny"}), "layer_norm")
    assert "eps is 'tiny', expected a number between -1000 and 1000" in str(eps)
    eps = said(tmp_path, toml({**ROWS, "eps": [1, 2]}), "layer_norm")
    assert "expected one number" in str(eps)
    groups = said(tmp_path, toml({**CONV, "groups": [1, 1]}), "conv2d")
    assert "groups is [1, 1], expected one number" in str(groups)
    groups = said(tmp_path, toml({**CONV, "groups": 0}), "conv2d")
    assert str(groups).startswith("x.case.toml: ")


def test_a_case_needs_a_finite_result(tmp_path):
    row = {"shapes": {"input": [2, 1]}, "D": 1, "eps": 0.0}
    assert "is not finite" in str(said(tmp_path, toml(row), "layer_norm"))


DIGITS = "9" * 5000  # tomllib takes at most 4,300
HEX = "0x" + "f" * 5000  # it takes these, and nobody can write them


@pytest.mark.parametrize("text", [f"N = {DIGITS}", f"N = {HEX}", f"N = [{HEX}]"])
def test_a_number_without_end_is_refused_with_a_sentence(tmp_path, text):
    assert "x.case.toml" in str(said(tmp_path, text))


WORDS = st.sampled_from([*GOOD, "layout", "values", "without", "shapes", "gradcheck"])
NUMBERS = st.integers() | st.sampled_from([DIGITS, HEX, "inf", "nan", "1979-05-27"])
VALUES = NUMBERS | st.lists(NUMBERS, max_size=3) | st.booleans() | st.text(max_size=5)


@settings(max_examples=2000, deadline=None)
@given(st.dictionaries(WORDS, VALUES, max_size=4) | st.text())
def test_any_file_is_a_case_or_refused(tmp_path_factory, words):
    if isinstance(words, dict):
        lines = [f"{word} = {value}".lower() for word, value in words.items()]
        words = "\n".join([toml(GOOD), *lines])
    file = tmp_path_factory.getbasetemp() / "fuzzed.case.toml"
    file.write_text(words, encoding="utf-8", errors="replace")
    with contextlib.suppress(case_file.Refused):
        case_file.read(file, "x.case.toml", operators.get("unfold"))
