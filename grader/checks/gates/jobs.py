# SPDX-License-Identifier: MIT
"""Makes the jobs of lab 05's gates: each job has inputs and the expected results.

The inputs come from the operator's cases. PyTorch computes the expected results in
double. It does so here, in a process that has loaded no student code.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from grader.checks.gates.expectations import loosely, moving, stack
from grader.checks.gates.factor import marked
from grader.checks.values.compare import Expected
from grader.operators import Case, Operator
from grader.operators.entry import Tensors
from grader.operators.refused_calls import refused

EXAMPLES = 3  # of a batch for vmap
DYNAMIC = {  # inputs whose first axis is a batch of any size
    "add": ("input", "other"),
    "matmul": ("input", "other"),
    "linear": ("input",),
    "unfold": ("input",),
    "conv2d": ("input",),
    "lltm": ("input", "h", "c"),
    "depthwise_conv2d": ("input",),
    "gelu": ("input",),
    "layer_norm": ("input",),
    "subm_conv3d": ("features", "coordinates"),
}


@dataclass(frozen=True)
class Job:
    """One call: what the worker is handed, and what its results should hold."""

    request: dict[str, Any]
    expected: list[Expected] = field(default_factory=list)
    name: str = ""  # the case
    may_refuse: bool = False  # an exception with words in place of a result is right
    dtypes: tuple[str, ...] = ("float32", "float64")  # that results may have


class Jobs:
    """The jobs of one operator's gates."""

    device = "cuda"  # of the gate cuda

    def __init__(self, operator: Operator, seed: int) -> None:
        self.operator, self.seed = operator, seed
        normal = [c for c in operator.cases(seed) if c.values == "normal"]
        self.cases = [c for c in normal if not c.large]
        self.small = [c for c in self.cases if c.gradcheck and c.wanted is None]
        views = [c for c in self.cases if c.layout and operator.elements(c) < 2000]
        last = [c for c in views if "channels_last" in c.layout.values()]
        self.views = (last + [c for c in views if c not in last])[:2]

    def of(self, gate: str, mark: float | None = None) -> list[Job]:
        """A gate's jobs; the right results carry the mark, if there is one."""
        self.right = marked(self.operator, mark) if mark else self.operator
        made: dict[str, Callable[[], Iterator[Job]]] = {
            "errors": self._errors,
            "opcheck": lambda: self._opcheck(backward=False),
            "opcheck_backward": lambda: self._opcheck(backward=True),
            "mask": self._mask,
            "vmap": self._vmap,
            "torch_func": self._torch_func,
            "forward_ad": self._forward_ad,
            "gradgradcheck": self._second,
            "autocast": self._autocast,
            "export": lambda: self._program(torch.float64),
            "onnx": lambda: self._program(torch.float32),
            "compile": self._compile,
            "compile_backward": self._compile_backward,
            "cuda": lambda: self._on_card(backward=False),
            "cuda_backward": lambda: self._on_card(backward=True),
        }
        return list(made[gate]())

    # ---- tensors ---------------------------------------------------------------------

    def _request(self, case: Case, inputs: Tensors, **more: Any) -> dict[str, Any]:
        """What every job has: tensors and options by name."""
        options = self.operator.signature.resolve(case.options)
        return {"tensors": inputs, "options": options, **more}

    def _drawn(self, case: Case, dtype: torch.dtype, more: int = 0) -> Tensors:
        return self.operator.inputs(case, dtype, self.seed + more)

    def _starts(self, case: Case, inputs: Tensors, more: int = 0) -> Tensors:
        """Gradients of the results for these inputs, laid out as the case says."""
        results = self.operator.outputs(inputs, case)
        dtype = next(iter(inputs.values())).dtype
        found = self.operator.grad_outputs(case, results, dtype, self.seed + more)
        names = [f"grad_{one.name}" for one in self.operator.signature.outputs]
        return dict(zip(names, found))

    def _results(self, case: Case, inputs: Tensors) -> Tensors:
        """What forward gives and backward may be handed: outputs and saved tensors."""
        signature = self.operator.signature
        saved = [one and one[0] for one in self.operator.saved(inputs, case)]
        found = [*self.operator.outputs(inputs, case), *saved]
        names = [one.name for one in (*signature.outputs, *signature.saved)]
        return {n: one.detach() for n, one in zip(names, found) if one is not None}

    # ---- right answers ---------------------------------------------------------------

    def _outputs(self, case: Case, inputs: Tensors) -> list[Expected]:
        truth = self.right.truth(inputs, case, [])
        terms = self.operator.terms(case, inputs)
        names = [one.name for one in self.operator.signature.outputs]
        return [
            loosely(name, value, scale, terms, truth.beyond)
            for name, value, scale in zip(names, truth.outputs, truth.output_scale)
        ]

    def _gradients(
        self, case: Case, inputs: Tensors, starts: Tensors
    ) -> list[Expected]:
        truth = self.right.truth(inputs, case, list(starts.values()))
        terms = self.operator.terms(case, inputs)
        names = self.operator.signature.gradients
        return [
            loosely(
                f"grad_{name}",
                value,
                scale,
                {f"grad_{name}": terms[name]},
                truth.beyond,
            )
            for name, value, scale in zip(names, truth.gradients, truth.gradient_scale)
            if value is not None and scale is not None
        ]

    def _reference(self, case: Case) -> Callable[..., tuple[torch.Tensor, ...]]:
        """PyTorch's own function of the inputs by name."""
        options = self.operator.signature.resolve(case.options)
        names = [argument.name for argument in self.operator.signature.inputs]

        def function(
            tensors: Mapping[str, torch.Tensor | None],
        ) -> tuple[torch.Tensor, ...]:
            given = [tensors.get(name) for name in names]
            found = self.right.reference(*given, **options)
            return (found,) if isinstance(found, torch.Tensor) else tuple(found)

        return function

    # ---- jobs ------------------------------------------------------------------------

    def _errors(self) -> Iterator[Job]:
        for call in refused(self.operator.name):
            tensors = {
                name: torch.ones(shape, dtype=call.dtypes.get(name, torch.float32))
                for name, shape in call.shapes.items()
            }
            request = {
                "tensors": tensors,
                "options": self.operator.signature.resolve(call.options),
                "what": call.what,
                "names": call.names,
                "right": call.right,
            }
            yield Job(request, name=call.what)

    def _opcheck(self, *, backward: bool) -> Iterator[Job]:
        samples = [(c, True) for c in (*self.small[:2], *self.views)]
        samples.append((self.small[0], False))
        for case, differentiate in samples:
            inputs = self._drawn(case, torch.float64)
            request = self._request(
                case,
                inputs,
                backward=backward,
                differentiate=differentiate,
                grad_outputs=self._starts(case, inputs),
                results=self._results(case, inputs),
                mask=self.operator.wanted(case),
            )
            yield Job(request, name=case.name)

    def _mask(self) -> Iterator[Job]:
        case = self.small[0]
        inputs = self._drawn(case, torch.float64)
        starts = self._starts(case, inputs)
        right = self._gradients(case, inputs, starts)
        results = self._results(case, inputs)
        request = self._request(case, inputs, grad_outputs=starts, results=results)
        yield Job(request, [*right, *right] if len(right) > 1 else [], case.name)

    def _batches(self) -> Iterator[tuple[Case, dict[str, int]]]:
        """Which inputs carry a batch, and along which axis."""
        for case in self.small[:3]:  # of conv2d only the third has more than one image
            names = list(self.operator.input_shapes(case))
            for count in range(1, len(names) + 1):
                for chosen in itertools.combinations(names, count):
                    yield case, dict.fromkeys(chosen, 0)
            yield case, {names[0]: 1}
            yield case, dict.fromkeys(names, -1)

    def _stacked(
        self, case: Case, axes: dict[str, int]
    ) -> tuple[Tensors, list[Tensors]]:
        """Inputs with the batch, and the same one example at a time."""
        drawn = [self._drawn(case, torch.float64, b) for b in range(EXAMPLES)]
        whole = {
            name: torch.stack([one[name] for one in drawn], axes[name])
            if name in axes
            else drawn[0][name]
            for name in drawn[0]
        }
        single = [
            {n: one[n] if n in axes else drawn[0][n] for n in drawn[0]} for one in drawn
        ]
        return whole, single

    def _vmap(self) -> Iterator[Job]:
        for case, axes in self._batches():
            whole, single = self._stacked(case, axes)
            right = stack([self._outputs(case, one) for one in single])
            request = self._request(case, whole, in_dims=[axes])
            yield Job(request, right, f"{case.name}, in_dims={axes}")
        yield from self._nested()

    def _nested(self) -> Iterator[Job]:
        """vmap of vmap: over all inputs, each over its own, both over one alone."""
        case = self.small[:3][-1]
        names = list(self.operator.input_shapes(case))
        everywhere = dict.fromkeys(names, 0)
        apart = dict.fromkeys(names[1:], 1) or {names[0]: -1}
        first = {names[0]: 0}
        for inner, outer in ((everywhere,) * 2, (apart, first), (first, first)):
            whole, single = self._twice_stacked(case, inner, outer)
            right = stack(
                [stack([self._outputs(case, o) for o in row]) for row in single]
            )
            request = self._request(case, whole, in_dims=[inner, outer])
            label = f"{case.name}, in_dims={inner} inside of {outer}"
            yield Job(request, right, label)

    def _twice_stacked(
        self, case: Case, inner: dict[str, int], outer: dict[str, int]
    ) -> tuple[Tensors, list[list[Tensors]]]:
        """Inputs with two batches, and the same one example at a time."""
        rows = 2
        drawn = [
            [
                self._drawn(case, torch.float64, row * EXAMPLES + b)
                for b in range(EXAMPLES)
            ]
            for row in range(rows)
        ]
        whole, single = {}, [[dict[str, torch.Tensor]() for _ in r] for r in drawn]
        for name in drawn[0][0]:
            for row, examples in enumerate(single):
                for b, one in enumerate(examples):
                    from_row = drawn[row if name in outer else 0]
                    one[name] = from_row[b if name in inner else 0][name]
            stacked = [
                torch.stack([one[name] for one in examples], inner[name])
                if name in inner
                else examples[0][name]
                for examples in single
            ]
            whole[name] = (
                torch.stack(stacked, outer[name]) if name in outer else stacked[0]
            )
        return whole, single

    def _torch_func(self) -> Iterator[Job]:
        smooth = self.operator.signature.gradients
        for case, axes in self._batches():
            axes = {name: axis for name, axis in axes.items() if name in smooth}
            whole, single = self._stacked(case, axes)
            starts = [self._starts(case, one, b) for b, one in enumerate(single)]
            right = stack([self._gradients(case, o, s) for o, s in zip(single, starts)])
            stacked = {n: torch.stack([s[n] for s in starts]) for n in starts[0]}
            more = {"in_dims": axes, "grad_outputs": stacked}
            name = f"{case.name}, in_dims={axes}"
            yield Job(self._request(case, whole, **more), right, name)

    def _forward_ad(self) -> Iterator[Job]:
        for case in self.small[:2]:
            inputs = self._drawn(case, torch.float64)
            starts = {n: t.contiguous() for n, t in self._starts(case, inputs).items()}
            names = [n for n in self.operator.signature.gradients if n in inputs]
            for chosen in [names, *([name] for name in names if len(names) > 1)]:
                drawn = self._drawn(case, torch.float64, 1)
                tangents = {name: drawn[name].contiguous() for name in chosen}
                right = moving(self._reference(case), inputs, tangents, starts)
                more = {"tangents": tangents, "grad_outputs": starts}
                request = self._request(case, inputs, **more)
                label = f"{case.name}, along {', '.join(chosen)}"
                yield Job(request, right, label, may_refuse=True)

    def _second(self) -> Iterator[Job]:
        for case in self.small[:2]:
            inputs = self._drawn(case, torch.float64)
            starts = {n: t.contiguous() for n, t in self._starts(case, inputs).items()}
            names = [n for n in self.operator.signature.gradients if n in inputs]
            drawn = self._drawn(case, torch.float64, 2)
            second = [drawn[name].contiguous() for name in names]
            leaves = {n: t.detach().clone() for n, t in inputs.items()}
            begin = [t.detach().clone().requires_grad_() for t in starts.values()]
            asked = [leaves[name].requires_grad_() for name in names]
            results = self._reference(case)(leaves)
            first = torch.autograd.grad(results, asked, begin, create_graph=True)
            sources = [*begin, *asked]
            found = torch.autograd.grad(first, sources, second, allow_unused=True)
            right = []
            for name, source, one in zip([*starts, *names], sources, found):
                value = torch.zeros_like(source) if one is None else one.detach()
                size = torch.ones_like(value) * 100
                right.append(loosely(f"second_{name}", value, size, {}))
            more = {"grad_outputs": starts, "second": second}
            yield Job(self._request(case, inputs, **more), right, case.name)

    def _autocast(self) -> Iterator[Job]:
        case = self.small[0]
        inputs = {
            name: tensor.bfloat16().to(tensor.dtype)
            for name, tensor in self._drawn(case, torch.float32).items()
        }
        right = self._outputs(case, inputs)
        twice = [*right, *right]  # from float32 and from bfloat16
        dtypes = ("float32", "bfloat16")
        yield Job(self._request(case, inputs), twice, case.name, dtypes=dtypes)

    def _batched(self) -> Case:
        """A case with a batch that may be of another size."""
        dynamic = DYNAMIC[self.operator.name]
        for case in self.cases:
            shapes = self.operator.input_shapes(case)
            batches = {shapes[name][0] if shapes[name] else 0 for name in dynamic}
            least = 1 if self.operator.name in ("add", "lltm", "subm_conv3d") else 2
            deep = all(len(shapes[name]) > least for name in dynamic)
            if case.layout or self.operator.elements(case) > 5000 or not deep:
                continue
            if len(batches) == 1 and batches.pop() > 1:
                return case
        raise LookupError(f"{self.operator.name} has no small case with a batch")

    def _program(self, dtype: torch.dtype) -> Iterator[Job]:
        """An example to trace with, and inputs with a larger batch to run."""
        case = self._batched()
        dynamic = DYNAMIC[self.operator.name]
        example = self._drawn(case, dtype)
        longer = self.operator.longer(case)
        other = self._drawn(longer or case, dtype, 1)
        for name in () if longer else dynamic:
            other[name] = torch.cat([other[name], example[name][:1]])
        request = self._request(case, other, example=example, dynamic=list(dynamic))
        yield Job(request, self._outputs(case, other), case.name)

    def _compile(self) -> Iterator[Job]:
        for case in (self.small[0], self.views[0]):
            inputs = self._drawn(case, torch.float64)
            right = self._outputs(case, inputs)
            yield Job(self._request(case, inputs), right, case.name)

    def _compile_backward(self) -> Iterator[Job]:
        case = self.small[1] if len(self.small) > 1 else self.small[0]
        inputs = self._drawn(case, torch.float64)
        starts = self._starts(case, inputs)
        right = self._gradients(case, inputs, starts)
        yield Job(self._request(case, inputs, grad_outputs=starts), right, case.name)

    def _on_card(self, *, backward: bool) -> Iterator[Job]:
        for case, dtype in itertools.product(
            self.cases, (torch.float32, torch.float64)
        ):
            inputs = self._drawn(case, dtype)
            starts = self._starts(case, inputs)
            right, wanted = self._outputs(case, inputs), list[str]()
            if backward:
                right = self._gradients(case, inputs, starts)
                wanted = [one.name.removeprefix("grad_") for one in right]
            more = {"wanted": wanted, "device": self.device, "grad_outputs": starts}
            yield Job(self._request(case, inputs, **more), right, case.name)
