# SPDX-License-Identifier: MIT
"""The frame of an operator's entry: cases in, right answers and tolerances out.

An entry says how PyTorch computes the operator, in double and on the student's inputs.
It also says how long the sums are, and how large their terms are. From these the frame
computes the expected outputs and gradients, and the tolerance for rounding.
"""

from __future__ import annotations

import copy
import math
import random
import tomllib
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from signatures import Argument, Signature
from signatures.of_exhibits import ALL, EXHIBITS

from grader.operators.case import STRANGE, Case, CaseError
from grader.operators.families import family
from grader.operators.layouts import lay_out

CASES = Path(__file__).with_name("cases")  # a file for each operator
CASES_OF_EXHIBITS = Path(__file__).with_name("exhibits")  # beside its module
Tensors = dict[str, torch.Tensor]
Grads = list[torch.Tensor]  # of a loss by each output

_FLAGS = ("gradcheck", "aligned", "large", "backward_only", "again")
_SPECIAL = {"name", "shapes", "layout", "without", "wanted", "values", *_FLAGS}
# values of integers: 12 bits are exact in float, but not in TF32 or half; 11 bits are
# exact there too, but not in bfloat16
_SMALLEST = {"integers": 2048, "short_integers": 1024}
_WIDE = {"wide": 3, "wider": 5}  # from 10^-3 to 10^3
_TINY = 1e-40  # a denormal number in float


@dataclass
class Truth:
    """The right answers to a case, in double, and how large their terms are."""

    outputs: list[torch.Tensor]
    saved: list[tuple[torch.Tensor, torch.Tensor | None] | None]  # value, valid where
    gradients: list[torch.Tensor | None]  # by signature.gradients; None if not wanted
    output_scale: list[torch.Tensor]  # sum of the absolute terms of each element
    saved_scale: list[torch.Tensor | None]
    gradient_scale: list[torch.Tensor | None]
    beyond: Callable[[str], float]  # of a result by name: Operator.beyond


class Operator:
    """One operator's entry. Subclasses override what is theirs."""

    name: str
    #: names of ATen operators that are the operator itself, `*word*` for any holding it
    forbidden: tuple[str, ...] = ()
    #: ATen operators allowed in lab 01 besides primitives.PLUMBING
    primitives: tuple[str, ...] = ()
    plain_add: bool = False  # aten::add only without broadcasting and alpha
    only: tuple[Case, ...] = ()  # in place of all its cases, where it has some
    also_tiny: tuple[str, ...] = ()  # beside the first input, where values = "tiny"
    also_infinite: tuple[str, ...] = ()  # the same, where values = "infinite"

    # ---- overridden by entries -------------------------------------------------------

    def reference(self, *inputs: torch.Tensor | None, **options: Any) -> Any:
        """PyTorch's own version, given tensors by position and options by name."""
        raise NotImplementedError

    def read_from_data(self, inputs: Tensors) -> dict[str, Any]:
        """What `reference` would read from a tensor's numbers, as its arguments: who
        times it reads that before.
        """
        return {}

    def terms(self, case: Case, inputs: Tensors) -> dict[str, int]:
        """How many terms each sum has, by output, saved tensor and gradient."""
        raise NotImplementedError

    def draw(self, rng: random.Random) -> dict[str, Any]:
        """A random case as a line of a case file, small but of any shape."""
        raise NotImplementedError

    def saved(self, inputs: Tensors, case: Case) -> list[Any]:
        """What forward is to save, in double, each with a mask of valid places."""
        return [None for _ in self.signature.saved]

    def saved_scale(self, inputs: Tensors, case: Case) -> list[torch.Tensor | None]:
        """The terms' magnitude of what is saved; None where integers must be equal."""
        return [None for _ in self.signature.saved]

    def scales(
        self, inputs: Tensors, case: Case, grad_outputs: Grads
    ) -> tuple[list[torch.Tensor], list[torch.Tensor | None]]:
        """Sums of absolute terms: for sums of products, the operator of absolutes."""
        absolute = {name: tensor.abs() for name, tensor in inputs.items()}
        return self.differentiate(absolute, case, [g.abs() for g in grad_outputs])

    def beyond(
        self, inputs: Tensors, case: Case, grad_outputs: Grads, result: str
    ) -> float:
        """The largest sum of absolute terms where a result ("output", "grad_input") is
        cut off at its borders: whoever computes tiles computes some of that as well.
        """
        return 0.0

    def fits_module(self, case: Case) -> bool:
        """Whether the module of torch.nn can be given what this case has and lacks."""
        return True

    def fill(
        self, argument: Argument, shape: tuple[int, ...], case: Case, rng: Any
    ) -> torch.Tensor:
        """Numbers for one input, in float64; integers override this. values.py
        explains the words of `values`; `far` and `large` are some operators' own.
        """
        if case.values in _SMALLEST:
            return self._integers(argument, shape, _SMALLEST[case.values], rng)
        numbers = torch.randn(shape, generator=rng, dtype=torch.float64)
        if reach := _WIDE.get(case.values):
            exponent = torch.rand(shape, generator=rng, dtype=torch.float64)
            numbers = numbers * 10 ** (reach * (2 * exponent - 1))
        first = argument.name == self.signature.inputs[0].name
        if case.values == "tiny" and (first or argument.name in self.also_tiny):
            numbers = numbers * _TINY
        if case.is_strange and numbers.numel():
            numbers = self._with_strange(argument, numbers, STRANGE[case.values])
        return numbers

    def _with_strange(
        self, argument: Argument, numbers: torch.Tensor, strange: float
    ) -> torch.Tensor:
        """One element of the first input is not finite, and another one of a gradient
        that backward starts from. With infinity, every third number is 0.
        """
        named = {self.signature.inputs[0].name}
        if math.isinf(strange):
            numbers.view(-1)[::3] = 0
            named.update(self.also_infinite)
        if argument.name in named:
            numbers.view(-1)[numbers.numel() // 2] = strange
        if argument.name.startswith("grad_"):
            numbers.view(-1)[numbers.numel() // 3] = strange
        return numbers

    def _integers(
        self, argument: Argument, shape: tuple[int, ...], smallest: int, rng: Any
    ) -> torch.Tensor:
        """Odd numbers of as many bits as `smallest` has, against -1, 0, 1."""
        if argument.name == self.signature.inputs[0].name:
            half = torch.randint(smallest // 2, smallest, shape, generator=rng)
            odd = 2 * half + 1
            sign = 2 * torch.randint(0, 2, shape, generator=rng) - 1
            return (odd * sign).double()
        return torch.randint(-1, 2, shape, generator=rng).double()

    def tags(self, case: Case) -> dict[str, bool]:
        """The words of `covers` in lab.toml, and whether each fits a case."""
        return {}

    def family(self, case: Case) -> str:
        """What is special about a case: a word of families.py."""
        return family(case, self.input_shapes(case), self.signature)

    def longer(self, case: Case) -> Case | None:
        """The case with one element more in its batch, where inputs have to be drawn
        for it; None where such an element can be put behind the others.
        """
        return None

    # ---- shapes ----------------------------------------------------------------------

    @property
    def signature(self) -> Signature:
        """Its signature in the Python contract."""
        return ALL[self.name]

    @property
    def case_file(self) -> Path:
        """Its cases, as data."""
        folder = CASES_OF_EXHIBITS if self.name in EXHIBITS else CASES
        return folder / f"{self.name}.toml"

    def shape(self, text: str, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """The numbers behind a shape's text: "(OC, IC/G, KH, KW)"."""
        names = {**sizes, "G": sizes.get("groups", 1)}
        extents = [e.strip() for e in text.strip("()").split(",") if e.strip()]
        try:
            return tuple(
                int(eval(e.replace("/", "//"), {"__builtins__": {}}, names))
                for e in extents
            )
        except NameError as error:
            raise CaseError(
                f"{self.name}.toml: a case lacks the size {error.name!r}, which the "
                f"shape {text!r} needs"
            ) from error

    def input_shapes(self, case: Case) -> dict[str, tuple[int, ...]]:
        """The shape of every input that is present."""
        sizes = {**case.sizes, "groups": case.options.get("groups", 1)}
        return {
            a.name: tuple(case.shapes[a.name])
            if a.name in case.shapes
            else self.shape(a.shape, sizes)
            for a in self.signature.inputs
            if a.name not in case.without
        }

    def elements(self, case: Case) -> int:
        """How many numbers all inputs have together."""
        return sum(map(math.prod, self.input_shapes(case).values()))

    # ---- cases -----------------------------------------------------------------------

    def case(self, line: Mapping[str, Any]) -> Case:
        """A line of data as a Case. Raises CaseError for a word nobody knows."""
        options = {o.name for o in self.signature.options}
        sizes = {k: v for k, v in line.items() if k.isupper()}
        unknown = set(line) - set(sizes) - options - _SPECIAL
        if unknown:
            word = sorted(unknown)[0]
            raise CaseError(
                f"{self.name}.toml: case {line.get('name')!r} has an unknown key "
                f"{word!r}. Sizes begin with a capital letter; the options are "
                f"{', '.join(sorted(options))}"
            )
        wanted = line.get("wanted")
        return Case(
            name=line["name"],
            sizes=sizes,
            options={k: line[k] for k in options if k in line},
            shapes=line.get("shapes", {}),
            layout=line.get("layout", {}),
            without=tuple(line.get("without", ())),
            wanted=None if wanted is None else tuple(wanted),
            values=line.get("values", "normal"),
            **{flag: line.get(flag, False) for flag in _FLAGS},
        )

    def on(self, *cases: Case) -> Operator:
        """The same operator, checked on these cases alone."""
        made = copy.copy(self)
        made.only = cases
        return made

    def cases(self, seed: int, *, drawn: int = 8) -> list[Case]:
        """The cases of the operator's file, those that a course hides, and some drawn
        from the seed.
        """
        if self.only:
            return list(self.only)
        entries = tomllib.loads(self.case_file.read_text(encoding="utf-8"))
        lines = entries["cases"] + entries.get("hidden", [])
        rng = random.Random(f"{self.name} {seed}")
        for i in range(drawn):
            lines.append({**self.draw(rng), "name": f"random_{i}"})
        return [self.case(line) for line in lines]

    def thread_cases(self) -> list[Case]:
        """The cases for rungs with threads, whose shares do not come out even."""
        if self.only:
            return list(self.only)
        entries = tomllib.loads(self.case_file.read_text(encoding="utf-8"))
        lines = entries.get("threads", [])
        return [self.case(line) for line in lines]

    def speed_cases(self, *, large: bool = True) -> dict[str, Case]:
        """The cases that are timed, by name; `large` ones only for who names them."""
        entries = tomllib.loads(self.case_file.read_text(encoding="utf-8"))
        lines = entries.get("speed", []) + (entries.get("large", []) if large else [])
        return {line["name"]: self.case(line) for line in lines}

    def inputs(self, case: Case, dtype: torch.dtype, seed: int) -> Tensors:
        """The inputs of a case, of `dtype`, laid out as it says."""
        rng = generator(seed, f"{self.name} {case.name} {dtype}")
        shapes = self.input_shapes(case)
        made = {}
        for argument in self.signature.inputs:
            if argument.name not in shapes:
                continue
            numbers = self.fill(argument, shapes[argument.name], case, rng)
            kind = {"i32": torch.int32, "i64": torch.int64}.get(argument.dtype, dtype)
            layout = case.layout.get(argument.name, "contiguous")
            made[argument.name] = lay_out(numbers.to(kind), layout)
        return made

    def grad_outputs(
        self, case: Case, outputs: list[torch.Tensor], dtype: torch.dtype, seed: int
    ) -> list[torch.Tensor]:
        """Gradients to start backward from, laid out as the case says."""
        rng = generator(seed, f"{self.name} {case.name} {dtype} backward")
        made = []
        for argument, output in zip(self.signature.outputs, outputs):
            name = f"grad_{argument.name}"
            pretend = Argument(name, argument.shape)
            numbers = self.fill(pretend, tuple(output.shape), case, rng)
            layout = case.layout.get(name, "contiguous")
            made.append(lay_out(numbers.to(dtype), layout))
        return made

    # ---- right answers ---------------------------------------------------------------

    def asks(self, case: Case, direction: str) -> bool:
        """Whether a direction has something to do in a case."""
        if direction == "forward":
            return not case.backward_only
        return any(self.wanted(case))

    def wanted(self, case: Case) -> list[bool]:
        """Which of signature.gradients the case asks for."""
        return [
            name not in case.without and (case.wanted is None or name in case.wanted)
            for name in self.signature.gradients
        ]

    def differentiate(
        self, inputs: Tensors, case: Case, grad_outputs: Grads
    ) -> tuple[list[torch.Tensor], list[torch.Tensor | None]]:
        """PyTorch's outputs and gradients on these inputs."""
        leaves = {name: _leaf(tensor) for name, tensor in inputs.items()}
        arguments = [leaves.get(a.name) for a in self.signature.inputs]
        result = self.reference(*arguments, **self.signature.resolve(case.options))
        outputs = list(result) if isinstance(result, tuple) else [result]
        wanted = [
            name if want else None
            for name, want in zip(self.signature.gradients, self.wanted(case))
        ]
        gradients: list[torch.Tensor | None] = [None] * len(wanted)
        if grad_outputs and any(wanted):
            found = iter(
                torch.autograd.grad(
                    outputs, [leaves[n] for n in wanted if n], grad_outputs
                )
            )
            gradients = [next(found) if name else None for name in wanted]
        return [output.detach() for output in outputs], gradients

    def outputs(self, inputs: Tensors, case: Case) -> list[torch.Tensor]:
        """PyTorch's outputs alone."""
        with torch.no_grad():
            return self.differentiate(inputs, case, [])[0]

    def truth(self, inputs: Tensors, case: Case, grad_outputs: Grads) -> Truth:
        """Right answers in double, from exactly the numbers given."""
        exact = {
            k: v.double() if v.is_floating_point() else v for k, v in inputs.items()
        }
        grads = [g.double() for g in grad_outputs]
        outputs, gradients = self.differentiate(exact, case, grads)
        output_scale, gradient_scale = self.scales(exact, case, grads)
        return Truth(
            outputs,
            self.saved(exact, case),
            gradients,
            output_scale,
            self.saved_scale(exact, case),
            gradient_scale,
            partial(self.beyond, exact, case, grads),
        )


def _leaf(tensor: torch.Tensor) -> torch.Tensor:
    """A dense copy to differentiate by: slow_conv2d refuses other strides."""
    dense = tensor.detach().clone(memory_format=torch.contiguous_format)
    return dense.requires_grad_(tensor.is_floating_point())


def generator(seed: int, name: str) -> torch.Generator:
    """Random numbers that depend on the run's seed and the case's name only."""
    return torch.Generator().manual_seed(seed * 1_000_003 + zlib.crc32(name.encode()))


def side(rng: random.Random, low: int, high: int) -> int:
    """An extent, small ones more often."""
    return min(rng.randint(low, high), rng.randint(low, high))


def some_layout(rng: random.Random, *names: str) -> dict[str, str]:
    """A random layout for some of the tensors."""
    kinds = ("contiguous", "contiguous", "transposed", "gaps", "reversed", "broadcast")
    return {name: rng.choice(kinds) for name in names if rng.random() < 0.6}


def numel(shape: Sequence[int]) -> int:
    """The product of a shape's extents."""
    return math.prod(shape)
