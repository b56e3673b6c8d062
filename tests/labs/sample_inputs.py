# SPDX-License-Identifier: MIT
"""Puts PyTorch's own sample inputs to lab 05's functions and modules, in all dtypes.

    python -m tests.labs.sample_inputs

takes about five minutes, writes docs/results/sample_inputs.md and fails if an answer is
wrong. tests/labs/test_extension_samples.py puts a part of the samples to them.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from grader.course.rungs import ROOT
from tests.labs.sample_answers import EQUAL, REFUSED, WRONG, Answer, answer
from tests.labs.sample_calls import (
    IN_TORCH,
    MODULES,
    OTHERS,
    OURS,
    TAKEN,
    Call,
    calls,
    module_calls,
    refused_by_pytorch,
)

PAGE = ROOT / "docs" / "results" / "sample_inputs.md"
OPERATORS = (*IN_TORCH, *OURS)
HEAD = """# PyTorch's own sample inputs

Made by `python -m tests.labs.sample_inputs`; `tests/labs/test_extension_samples.py`
holds a part of it against the operators.

PyTorch tests its operators and modules on lists of calls (OpInfo and ModuleInfo, in
`torch.testing._internal`). Here these calls go to lab 05, on the CPU: the samples, the
reference inputs of `add` in float32 and float64, and the error inputs, which PyTorch
refuses. The operators `mm` and `bmm` go to `matmul`, and `conv2d` with a group for each
channel goes to `depthwise_conv2d` too. `lltm` and `subm_conv3d` are no operators of
PyTorch: their samples are lab 05's own, and are compared with the grader's references.

Each sample is made in {dtypes} dtypes:
{names}.

- equal: values, first and second derivatives are PyTorch's, by
  `torch.testing.assert_close` with the absolute tolerance of the largest element.
- refused: the sentence begins with the operator's name and names an argument of the
  call. Fake tensors get the same sentence about a dtype, and one that is as good about
  anything else.
- wrong: all other answers.

| | calls | equal | refused | PyTorch answers of these | wrong |
|---|--:|--:|--:|--:|--:|
"""
REFUSALS = """
## Refusals

Each sentence stands for all calls that differ in numbers (N), texts and dtypes (DTYPE).
The last column counts the calls that PyTorch answers.

| sentence | calls | PyTorch answers |
|---|--:|--:|
"""
KINDS = (  # from a sentence to its kind
    (r"(?<=is )(b?complex|bfloat|float|u?int)\d+\w*|(?<=is )bool\b", "DTYPE"),
    (r"(?<=')(b?complex|bfloat|float|u?int)\d+\w*", "DTYPE"),
    (r"\([^()]*j\)", "N"),
    (r"(?<![\w.])-?\d+(\.\d+)?(e-?\d+)?", "N"),
    (r"(?<='approximate' is )'\w*'", "'...'"),
    (r"(\(|\[)N(, N)*(\)|\])", r"\1N, ...\3"),
)


def of_operator(operator: str, *, more: bool = False) -> Iterator[Call]:
    """All calls of an operator; without `more` a few of each dtype that it refuses."""
    for dtype in TAKEN:
        yield from calls(operator, dtype, more=more)
    for dtype in OTHERS:
        yield from islice(calls(operator, dtype), None if more else 2)
    yield from refused_by_pytorch(operator)


def of_module(name: str) -> Iterator[Call]:
    """All calls of a module."""
    for dtype in (*TAKEN, *OTHERS):
        yield from module_calls(name, dtype)


def kind_of(sentence: str) -> str:
    """A sentence without what differs from call to call."""
    for pattern, word in KINDS:
        sentence = re.sub(pattern, word, sentence)
    return sentence


def table(answers: dict[str, list[Answer]]) -> Iterator[str]:
    """A row for each operator and module."""
    for name, found in answers.items():
        kinds = Counter(one.kind for one in found)
        torchs = sum(one.torchs for one in found if one.kind == REFUSED)
        yield (
            f"| {name} | {len(found)} | {kinds[EQUAL]} | {kinds[REFUSED]} | {torchs} "
            f"| {kinds[WRONG]} |\n"
        )


def refusals(answers: dict[str, list[Answer]]) -> Iterator[str]:
    """A row for each kind of sentence."""
    calls, torchs = Counter[str](), Counter[str]()
    for found in answers.values():
        for one in found:
            if one.kind == REFUSED:
                calls[kind_of(one.sentence)] += 1
                torchs[kind_of(one.sentence)] += one.torchs
    for kind, count in calls.items():
        yield f"| {kind} | {count} | {torchs[kind]} |\n"


def page(answers: dict[str, list[Answer]]) -> str:
    """The whole page."""
    dtypes = [str(dtype).removeprefix("torch.") for dtype in (*TAKEN, *OTHERS)]
    names = textwrap.fill(", ".join(dtypes), width=88)
    head = HEAD.format(dtypes=len(dtypes), names=names)
    return "".join([head, *table(answers), REFUSALS, *refusals(answers)])


def main() -> None:
    """Write the page; name what is wrong."""
    answers = {}
    for operator in OPERATORS:
        answers[operator] = [answer(one) for one in of_operator(operator, more=True)]
    for name in MODULES:
        answers[name] = [answer(one) for one in of_module(name)]
    wrong = [one for found in answers.values() for one in found if one.kind == WRONG]
    for one in wrong:
        print(f"{one.call}: {one.sentence}")
    PAGE.write_text(page(answers), encoding="utf-8")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
