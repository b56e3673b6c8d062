# SPDX-License-Identifier: MIT
"""A case that a student wrote (NAME.case.toml), read with more care than our own.

It has the words of a line of cases/<operator>.toml. For each mistake there is a
sentence with the file, the word, what was found and what was expected. A case that
needs too much memory or time is refused.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import torch
from signatures import Option

from grader.course.foreign import short
from grader.course.quoted_line import line as line_of
from grader.course.rungs import ROOT
from grader.operators import values
from grader.operators.case import Case, CaseError
from grader.operators.entry import Operator, numel
from grader.operators.layouts import LAYOUTS

LARGEST = 1 << 16  # bytes of the file
SIZE = 2048  # of one axis
WINDOW = 16  # an option that counts elements
NUMBERS = 2048  # of one input, where an axis of 0 counts as 1
GRADCHECKED = 100  # numbers of a case that gradcheck is asked on, too
VALUES = tuple(values.OF_STUDENTS)
NAME = "case"


class Refused(CaseError):
    """The sentence, and the file:line it is about, if there is one."""

    def __init__(self, sentence: str, location: str | None = None) -> None:
        super().__init__(sentence)
        self.location = location


def read(path: Path, shown: str, operator: Operator) -> Case:
    """The case in a file. Raises Refused."""
    try:
        data = path.read_bytes()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise Refused(
            f"cannot read {shown}: {reason}; make reset T= puts it back"
        ) from error
    if len(data) > LARGEST:
        raise Refused(
            f"{shown} has {len(data)} bytes, but a case may have at most {LARGEST}"
        )
    try:
        line = tomllib.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # of TOML, UTF-8, endless digits
        at = re.search(r"at line (\d+)", str(error))
        place = f"{shown}:{at[1]}" if at else shown
        said = f"{place} is not valid TOML: {error}"
        raise Refused(said, place if at else None) from error
    return _Reader(shown, operator, line).case()


def _shown(value: Any) -> str:
    """A value in a sentence."""
    try:
        return short(repr(value), 80)
    except ValueError:  # Python writes no number of more than 4,300 digits
        return "a number with thousands of digits"


class _Reader:
    """One file that is TOML."""

    def __init__(self, shown: str, operator: Operator, line: Mapping[str, Any]) -> None:
        self.shown, self.operator, self.line = shown, operator, line

    def refuse(self, word: str, expected: str) -> Refused:
        """The error of one word."""
        found = f"is {_shown(self.line[word])}" if word in self.line else "is missing"
        return Refused(f"{self.shown}: {word} {found}, expected {expected}", self.shown)

    def case(self) -> Case:
        """The case. Raises Refused."""
        if not self.line:
            raise Refused(
                f"{self.shown} holds no case: write its sizes and options, one per "
                f"line, as in {self._model}"
            )
        self._words()
        self._sizes()
        self._lists()
        for option in self.operator.signature.options:
            if option.name in self.line:
                self._option(option)
        try:
            case = self.operator.case({**self.line, "name": NAME})
            self.operator.signature.resolve(case.options)
            shapes = self.operator.input_shapes(case)
        except (CaseError, TypeError, ArithmeticError) as error:
            raise Refused(f"{self.shown}: {error}") from error
        for name, shape in shapes.items():
            if min(shape, default=0) < 0 or numel([max(n, 1) for n in shape]) > NUMBERS:
                raise Refused(
                    f"{self.shown}: {name!r} has the shape {list(shape)}, expected at "
                    f"most {NUMBERS} numbers"
                )
        return self._checked(case, shapes)

    def _checked(self, case: Case, shapes: Mapping[str, tuple[int, ...]]) -> Case:
        """The same if PyTorch takes it."""
        small = sum(map(numel, shapes.values())) <= GRADCHECKED
        line = {**self.line, "name": NAME, "gradcheck": small}
        try:
            inputs = self.operator.inputs(case, torch.float64, 0)
            results = self.operator.outputs(inputs, case)
        except Exception as error:  # whatever PyTorch says of tensors that do not fit
            said = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise Refused(
                f"{self.shown}: PyTorch's own {self.operator.name} refuses this case: "
                f"{said}"
            ) from error
        if not all(bool(torch.isfinite(result).all()) for result in results):
            raise Refused(
                f"{self.shown}: the right result of this case is not finite, so "
                "results cannot be compared with it"
            )
        return self.operator.case(line)

    # ---- words -----------------------------------------------------------------------

    @property
    def _model(self) -> str:
        """The operator's own cases, as people see their path."""
        return str(self.operator.case_file.relative_to(ROOT))

    def _words(self) -> None:
        """Only those that a line of the operator's own case file may have."""
        options = [option.name for option in self.operator.signature.options]
        words = [*self._axes(), *options, "shapes", "layout", "without", "wanted"]
        for word in self.line:
            if word not in (*words, "values"):
                near = get_close_matches(word, (*words, "values"), 1)
                meant = f" (did you mean {near[0]!r}?)" if near else ""
                listed = ", ".join((*words, "values"))
                raise Refused(
                    f"{self.shown}: unknown key {word!r} in a case of "
                    f"{self.operator.name}{meant}, expected some of {listed}",
                    self._place(word),
                )
        if self.line.get("values", "normal") not in VALUES:
            raise self.refuse("values", f"one of {', '.join(VALUES)}")

    def _place(self, word: str) -> str:
        """file:line of a word, as far as it can be found."""
        for number in range(1, 200):
            if line_of(self.shown, number).split("=")[0].strip() == word:
                return f"{self.shown}:{number}"
        return self.shown

    def _axes(self) -> list[str]:
        """The names of sizes: those of its own cases."""
        cases = self.operator.cases(0)
        return sorted({size for case in cases for size in case.sizes})

    def _sizes(self) -> None:
        for word, value in self.line.items():
            if word.isupper() and not _is_size(value):
                raise self.refuse(word, f"a size from 0 to {SIZE}")

    def _lists(self) -> None:
        """What names tensors: shapes, layout, without, wanted."""
        signature = self.operator.signature
        names = [argument.name for argument in signature.inputs]
        grads = [f"grad_{argument.name}" for argument in signature.outputs]
        shapes, layout = self.line.get("shapes", {}), self.line.get("layout", {})
        if not isinstance(shapes, dict) or not set(shapes) <= set(names):
            raise self.refuse("shapes", f"a table of {', '.join(names)}")
        for shape in shapes.values():
            if not isinstance(shape, list) or not all(map(_is_size, shape)):
                raise self.refuse("shapes", f"lists of sizes from 0 to {SIZE}")
            if len(shape) > 6:
                raise self.refuse("shapes", "at most 6 axes")
        if not isinstance(layout, dict) or not set(layout) <= {*names, *grads}:
            raise self.refuse("layout", f"a table of {', '.join((*names, *grads))}")
        if any(kind not in LAYOUTS for kind in layout.values()):
            raise self.refuse("layout", f"layouts among {', '.join(LAYOUTS)}")
        optional = [a.name for a in signature.inputs if a.optional]
        self._among("without", optional)
        self._among("wanted", list(signature.gradients))

    def _among(self, word: str, names: list[str]) -> None:
        found = self.line.get(word, [])
        if not isinstance(found, list) or any(name not in names for name in found):
            listed = ", ".join(names) or "nothing: no input may be absent"
            raise self.refuse(word, f"a list of some of {listed}")

    def _option(self, option: Option) -> None:
        value = self.line[option.name]
        if option.kind == "choice":
            if value not in option.choices:
                listed = ", ".join(map(repr, option.choices))
                raise self.refuse(option.name, f"one of {listed}")
            return
        each = value if option.axes and isinstance(value, list) else [value]
        count = len(option.axes) or 1
        if len(each) not in (1, count) or (isinstance(value, list) and not option.axes):
            raise self.refuse(option.name, f"one number, or {count} in a list")
        if isinstance(value, list) and len(each) != count:
            raise self.refuse(option.name, f"{count} numbers in a list")
        if option.kind == "int" and not all(map(_is_count, each)):
            raise self.refuse(option.name, f"whole numbers from 0 to {WINDOW}")
        if option.kind == "float" and not all(map(_is_number, each)):
            raise self.refuse(option.name, "a number between -1000 and 1000")


def _is_size(value: Any) -> bool:
    return type(value) is int and 0 <= value <= SIZE


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= WINDOW


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) <= 1000
