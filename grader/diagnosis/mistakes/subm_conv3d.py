# SPDX-License-Identifier: MIT
"""Known mistakes of subm_conv3d: of the search, of the pairs, and of their sums."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from grader.diagnosis.mistakes import formulas, wrong_windows
from grader.diagnosis.mistakes.mistake import Answers, Formula, Mistake, Setting
from grader.diagnosis.mistakes.strides import strides_ignored
from grader.operators.entry import Tensors

T = torch.Tensor
KERNEL = (2, 3, 4)  # the axes of weight that are places


def _weight(change: Callable[[T], T]) -> Formula:
    """The right operator with another weight."""
    return formulas.altered(lambda s: s.input(weight=change(s.inputs["weight"])))


def _flipped(axes: tuple[int, ...]) -> Callable[[T], T]:
    return lambda weight: weight.flip(axes)


def _at_centre(inside: float, outside: float) -> Callable[[T], T]:
    """The centre of the kernel times one number, its other places times another."""

    def scaled(weight: T) -> T:
        factor = torch.full(weight.shape[2:], outside, dtype=weight.dtype)
        factor[tuple(size // 2 for size in factor.shape)] = inside
        return weight * factor

    return scaled


def _readers(s: Setting, inputs: Tensors) -> T:
    """(P, KD*KH*KW): 1 where the point reads another one at the place, else 0."""
    weight = inputs["weight"]
    places = weight[0, 0].numel()
    picks = torch.eye(places, dtype=torch.float64).reshape(-1, 1, *weight.shape[2:])
    ones = {"features": torch.ones_like(inputs["features"][:, :1]), "weight": picks}
    found = formulas.reference(s, {"coordinates": inputs["coordinates"], **ones})
    assert found is not None
    return found


# ---- the search ----------------------------------------------------------------------


def _offset_turned() -> Iterator[Formula]:
    for axes in (KERNEL, (2,), (3,), (4,), (2, 3), (2, 4), (3, 4)):
        yield formulas.forward_only(_weight(_flipped(axes)))


def _axes_swapped() -> Iterator[Formula]:
    """The place's numbers are added to the wrong coordinates, dilated or not yet."""
    for first, second in itertools.combinations(range(3), 2):
        for too in (True, False):

            def change(
                s: Setting, a: int = first, b: int = second, dilated: bool = too
            ) -> Setting:
                weight = s.inputs["weight"].transpose(a + 2, b + 2)
                dilation = list(s.options["dilation"])
                if dilated:
                    dilation[a], dilation[b] = dilation[b], dilation[a]
                return s.input(weight=weight).option(dilation=tuple(dilation))

            yield from formulas.misread(change, "grad_features")


def _dilation_ignored() -> Iterator[Formula]:
    def one(s: Setting) -> Setting:
        return s.option(dilation=(1, 1, 1))

    yield formulas.altered(one)
    for axis in range(3):

        def same(s: Setting, a: int = axis) -> Setting:
            return s.option(dilation=(s.options["dilation"][a],) * 3)

        yield formulas.altered(same)


def _batch_ignored() -> Iterator[Formula]:
    """Points of all samples in one volume: the first or the last one has the place."""
    for reduce in ("amax", "amin"):

        def forward(s: Setting, inputs: Tensors, r: str = reduce) -> T | None:
            points = inputs["coordinates"].detach() * torch.tensor([0, 1, 1, 1])
            places, of = points.unique(dim=0, return_inverse=True)  # (U, 4) (P)
            rows = torch.arange(len(of), dtype=torch.float64)
            chosen = torch.zeros(len(places), dtype=torch.float64)
            chosen = chosen.scatter_reduce(0, of, rows, r, include_self=False).long()
            whole = {**inputs, "coordinates": places}
            made = formulas.reference(
                s, {**whole, "features": inputs["features"][chosen]}
            )
            return None if made is None else made[of]

        yield formulas.through(forward)
    yield formulas.forward_only(formulas.through(_any_sample))


def _any_sample(s: Setting, inputs: Tensors) -> T | None:
    """A point of any sample is found at a place; of several nobody can tell which."""
    points = inputs["coordinates"].detach() * torch.tensor([0, 1, 1, 1])
    places, of, many = points.unique(dim=0, return_inverse=True, return_counts=True)
    row = torch.zeros(len(places), dtype=torch.long)
    row[of] = torch.arange(len(of))
    features = inputs["features"][row]
    features = torch.where(many[:, None] > 1, formulas.UNKNOWN, features)
    whole = {**inputs, "coordinates": places, "features": features}
    made = formulas.reference(s, whole)
    return None if made is None else made[of]


def _nobody_read() -> Iterator[Formula]:
    """Where there is no neighbour the last or the first row is read (-1 or 0)."""
    for row in (-1, 0):

        def forward(s: Setting, inputs: Tensors, at: int = row) -> T | None:
            right = formulas.reference(s, inputs)
            if right is None:
                return None
            taps = inputs["weight"].flatten(2)  # (OC, IC, KD*KH*KW)
            terms = torch.einsum("oik,i->ko", taps, inputs["features"][at])
            return right + (1 - _readers(s, inputs)) @ terms

        yield formulas.through(forward)


def _not_centred() -> Iterator[Formula]:
    """Offsets from 0 on: the kernel's first place lies on the point, or its last."""
    for front in (True, False):

        def forward(s: Setting, inputs: Tensors, f: bool = front) -> T | None:
            weight = inputs["weight"]
            widths = [n - 1 for n in reversed(weight.shape[2:])]
            sides = [(n, 0) if f else (0, n) for n in widths]
            wide = torch.nn.functional.pad(weight, [n for side in sides for n in side])
            return formulas.reference(s, {**inputs, "weight": wide})

        yield formulas.through(forward)


# ---- the sums ------------------------------------------------------------------------


def _scaled(inside: float, outside: float) -> Iterator[Formula]:
    change = _at_centre(inside, outside)
    yield _weight(change)
    yield formulas.forward_only(_weight(change))
    yield formulas.only("grad_features", _weight(change))
    yield formulas.answered("grad_weight", lambda t, _: change(t))


def _counted_twice() -> Iterator[Formula]:
    for factors in ((2.0, 1.0), (1.0, 2.0), (2.0, 2.0)):
        yield from _scaled(*factors)


def _gathered(s: Setting, rows: T) -> T:
    """(P, KD*KH*KW, C): the row that each point reads at each place, or zeros."""
    C, size = rows.shape[1], s.inputs["weight"].shape[2:]
    picks = torch.eye(size.numel() * C, dtype=torch.float64)
    weight = picks.reshape(-1, size.numel(), C).mT.reshape(-1, C, *size)
    inputs = {"coordinates": s.inputs["coordinates"], "features": rows}
    found = formulas.reference(s, {**inputs, "weight": weight})
    assert found is not None
    return found.reshape(-1, size.numel(), C)


def _last_place(there: T) -> T:
    """The last place of each row that is 1 in (P, KD*KH*KW)."""
    return (there * torch.arange(1, 1 + there.shape[1])).argmax(1)


def _one_term() -> Iterator[Formula]:
    """The last pair of each sum, in the order of the rulebook."""

    def output(s: Setting) -> Answers:
        last = _last_place(_readers(s, s.inputs))
        features = _gathered(s, s.inputs["features"])[torch.arange(len(last)), last]
        taps = s.inputs["weight"].flatten(2)[..., last]  # (OC, IC, P)
        return {"output": torch.einsum("oip,pi->po", taps, features)}

    def features(s: Setting) -> Answers:
        there = _readers(s, s.inputs).flip(1)  # (P, place at which it is read)
        last = _last_place(there)
        grads = _gathered(s, s.grads[0]).flip(1)[torch.arange(len(last)), last]
        taps = s.inputs["weight"].flatten(2)[..., last]
        return {"grad_features": torch.einsum("oip,po->pi", taps, grads)}

    def weight(s: Setting) -> Answers:
        there = _readers(s, s.inputs)
        last = _last_place(there.mT)  # (KD*KH*KW): a row of features
        places = torch.arange(len(last))
        read = _gathered(s, s.inputs["features"])[last, places]  # (KD*KH*KW, IC)
        grads = s.grads[0][last]  # (KD*KH*KW, OC)
        shape = s.inputs["weight"].shape
        return {"grad_weight": torch.einsum("ko,ki->oik", grads, read).reshape(shape)}

    yield formulas.forward_only(output)
    yield formulas.only("grad_features", formulas.backward_only(features))
    yield formulas.only("grad_weight", formulas.backward_only(weight))


def _to_writer(s: Setting) -> Answers:
    """The gradient of the features stays with the point that was written."""
    taps = s.inputs["weight"].flatten(2)
    there = _readers(s, s.inputs)
    made = torch.einsum("pk,oik,po->pi", there, taps, s.grads[0])
    return {"grad_features": made}


def _weight_orders() -> Iterator[Formula]:
    """Every order of filters, channels and places but the right one."""
    for order in wrong_windows.flat_orders(3):

        def laid_out(t: T, _: Setting, o: Sequence[int] = order) -> T:
            return t.flatten(2).permute(*o).reshape(t.shape)

        yield formulas.answered("grad_weight", laid_out)


def _pair_turned() -> Iterator[Formula]:
    """The gradient goes from read to write, like the values."""
    yield formulas.only("grad_features", _weight(_flipped(KERNEL)))
    yield formulas.answered("grad_weight", lambda t, _: t.flip(KERNEL))

    def both(s: Setting) -> Answers | None:
        found = _weight(_flipped(KERNEL))(s) or {}
        if "grad_weight" in s.truth:
            found["grad_weight"] = s.truth["grad_weight"].flip(KERNEL)
        return found

    yield formulas.backward_only(both)


def _bias_per_pair() -> Iterator[Formula]:
    def forward(s: Setting, inputs: Tensors, own: float) -> T | None:
        right = formulas.reference(s, inputs)
        if right is None or "bias" not in inputs:
            return right
        more = _readers(s, inputs).sum(1, keepdim=True) - own  # (P, 1)
        return right + more * inputs["bias"]

    for own in (1.0, 0.0):

        def formula(s: Setting, inputs: Tensors, o: float = own) -> T | None:
            return forward(s, inputs, o)

        yield formulas.through(formula)
        yield formulas.forward_only(formulas.through(formula))


def _mistake(name: str, sentence: str, wrong: Iterator[Any]) -> Mistake:
    return Mistake(name, sentence, tuple(wrong))


MISTAKES = (
    _mistake(
        "offset_turned",
        "points read neighbours on the wrong side: kernel position (kd, kh, kw) has "
        "the offset (kd - KD/2, kh - KH/2, kw - KW/2)",
        _offset_turned(),
    ),
    _mistake(
        "pair_turned",
        "a pair (read, write) is used in the wrong direction. Forward takes the value "
        "at `read` and adds to `write`; backward takes the gradient at `write`",
        _pair_turned(),
    ),
    _mistake(
        "pair_turned_saved",
        "the rulebook lists pairs (write, read), but a pair must be (read, write)",
        iter([formulas.answered("rulebook", lambda t, _: t.flip(-1))]),
    ),
    _mistake(
        "gradient_to_writer",
        "the gradient of the features is added to the written point: add it to the "
        "point that was read",
        iter([formulas.only("grad_features", formulas.backward_only(_to_writer))]),
    ),
    _mistake(
        "kernel_not_centred",
        "the kernel begins or ends at the point, but the centre (KD/2, KH/2, KW/2) of "
        "the kernel must be there",
        _not_centred(),
    ),
    _mistake("accumulation_missing", formulas.ONE_TERM, _one_term()),
    _mistake(
        "weight_gradient_transposed",
        "the numbers are right, but the axes are in another order",
        _weight_orders(),
    ),
    _mistake(
        "centre_forgotten",
        "the centre of the kernel is missing: each point must read itself, too",
        _scaled(0.0, 1.0),
    ),
    _mistake(
        "neighbour_twice",
        "some pairs count twice: a kernel position joins a point with at most one "
        "other point",
        _counted_twice(),
    ),
    _mistake(
        "axes_swapped",
        "depth, height and width are exchanged. A row of coordinates is n, z, y, x. A "
        "kernel position is kd, kh, kw",
        _axes_swapped(),
    ),
    _mistake(
        "dilation_ignored",
        "the kernel positions are spaced with the wrong dilation",
        _dilation_ignored(),
    ),
    _mistake(
        "batch_ignored",
        "points of different samples are treated as one point: the key must contain n",
        _batch_ignored(),
    ),
    _mistake(
        "nobody_read",
        "if a point has no neighbour, the first or the last row is read instead",
        _nobody_read(),
    ),
    _mistake(
        "bias_per_pair",
        "the bias is added once for each pair: add it once to the whole sum",
        _bias_per_pair(),
    ),
    formulas.bias_missing(),
    strides_ignored("features", "weight", "bias"),
)
