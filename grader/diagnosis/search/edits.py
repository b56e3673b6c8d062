# SPDX-License-Identifier: MIT
"""Lists the edits of a sum of products that are searched.

An edit changes one index, the order of two axes, the range of a loop, a factor, or a
divisor. Its words say which code makes these numbers.
Two edits may make the same numbers: then the words of both are true.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TypeVar

from grader.diagnosis.mistakes.formulas import TILES
from grader.diagnosis.mistakes.mistake import listed
from grader.diagnosis.search.summed_operator import Form
from grader.diagnosis.search.sums import (
    ALL_BUT_ONE,
    Index,
    Indices,
    Sum,
    Tail,
    Term,
    loops_of,
)

KINDS = ("oh ow kh kw", "group filter ic oc", "row ic oc", "b m n k")  # are confused
INSTEAD = {  # what people write for an option of a window
    "stride": ("0", "1", "dilation", "-stride"),
    "dilation": ("0", "1", "stride", "-dilation"),
    "-padding": ("0", "padding", "-2*padding"),
}
BOTH = ("h", "w")
MORE_TILES = (64, 128, 256, 512)  # of the sums of matmul and linear
OUTSIDE = {
    "memory": "the neighbouring elements in memory",
    "edge": "the border of the image",
    "mirror": "the mirror image",
    "around": "the other side of the image",
}
N = TypeVar("N")


@dataclass(frozen=True)
class Edit:
    """A wrong sum, its kind, the words for what it computes, and a key.

    The key is short: "input -padding=0 hw". Known mistakes are lists of keys.
    """

    kind: str
    words: str
    sum_: Sum
    key: str


def edits(sum_: Sum, target: str, form: Form) -> Iterator[Edit]:
    """Every edit of a sum that computes a tensor, the likely ones first."""
    for name, indices in sum_.tensors.items():
        for wrong, key in _wrong_indices(name, indices, sum_, form):
            words = _index_words(name, indices, wrong, form)
            made = _with_indices(sum_, name, wrong)
            yield Edit("index_wrong", words, made, f"{name} {key}")
        for variable, others in form.instead.items():
            for other, words in others.items():
                wrong = _renamed(indices, {}, {variable: other})
                if wrong != indices:
                    made = _with_indices(sum_, name, wrong)
                    yield Edit("neighbour_wrong", words, made, other)
        for order in _orders(len(indices), every=name == target):
            letters = ", ".join(form.axes[name][axis] for axis in order)
            words = f"'{name}' stored with its axes in the order ({letters})"
            made = replace(sum_, orders={name: order})
            yield Edit("memory_order_wrong", words, made, f"{name} stored {letters}")
        if name != target:
            words = f"a sum without '{name}' as a factor"
            made = replace(sum_, powers={name: 0})
            yield Edit("factor_missing", words, made, f"no {name}")
            words = f"a sum with '{name}' squared"
            made = replace(sum_, powers={name: 2})
            yield Edit("factor_twice", words, made, f"{name} squared")
    yield from _ranges(sum_, target, form)
    yield from _tails(sum_, target, form)
    if sum_.padded and form.window:
        yield from _borders(sum_, target)
    for scale, words in ((-1.0, "-1 times"), (2.0, "twice"), (0.5, "half of")):
        made = replace(sum_, scale=scale)
        words = f"{words} {_sum_words(sum_)}"
        yield Edit("factor_wrong", words, made, words)
    for loops in (*_subsets(summed(sum_, target), 3), *form.counts):
        words = f"a sum divided by the number of iterations over {listed(loops)}"
        made = replace(sum_, mean_over=tuple(loops))
        yield Edit("sum_averaged", words, made, f"averaged over {','.join(loops)}")
    for key, change in form.others.items():
        if (changed := change(sum_)) is not None:
            yield Edit("", "", changed, key)


def _with_indices(sum_: Sum, name: str, indices: Indices) -> Sum:
    """The same with other indices of one tensor."""
    return replace(sum_, tensors={**sum_.tensors, name: indices})


def summed(sum_: Sum, target: str) -> list[str]:
    """The loops whose iterations are added up in one element of the target."""
    own = loops_of(replace(sum_, tensors={target: sum_.tensors[target]}))
    return [loop for loop in loops_of(sum_) if loop not in own]


# ---- indices -------------------------------------------------------------------------


def _wrong_indices(
    name: str, indices: Indices, sum_: Sum, form: Form
) -> Iterator[tuple[Indices, str]]:
    """The indices of one tensor with one edit, and the edit's key."""
    axes, loops = form.axes[name], loops_of(sum_)
    yield from _wrong_options(indices)
    for first, second in itertools.combinations(range(len(indices)), 2):
        made = list(indices)
        made[first], made[second] = made[second], made[first]
        yield tuple(made), f"{axes[first]}-{axes[second]}"
    for axis, index in enumerate(indices):
        for wrong in _wrong_index(index, loops, form):
            key = f"{axes[axis]} = {_in_code(wrong, form)}"
            yield (*indices[:axis], wrong, *indices[axis + 1 :]), key
    flipped = _renamed(indices, {}, {"kh": "~kh", "kw": "~kw"})
    if flipped != indices:
        yield flipped, "flipped"


def _wrong_options(indices: Indices) -> Iterator[tuple[Indices, str]]:
    """With a stride, dilation or padding that is another one, along h, w or both."""
    there = {c for index in indices for c, _ in index}
    if "stride_h" not in there:
        return
    for axes in (BOTH, *((axis,) for axis in BOTH)):
        for right, alternatives in INSTEAD.items():
            for wrong in alternatives:
                suffix = "" if wrong.isdigit() else "_%s"
                changed = {
                    f"{right}_{a}": wrong + (suffix and suffix % a) for a in axes
                }
                yield _renamed(indices, changed), f"{right}={wrong} {''.join(axes)}"
        exchanged = {f"stride_{a}": f"dilation_{a}" for a in axes}
        exchanged |= {v: k for k, v in exchanged.items()}
        yield _renamed(indices, exchanged), f"stride-dilation {''.join(axes)}"
    signs = {f"dilation_{a}": f"-dilation_{a}" for a in BOTH}
    signs |= {f"-padding_{a}": f"padding_{a}" for a in BOTH}
    yield _renamed(indices, signs), "signs turned"
    for some in _subsets(list(INSTEAD), 3):
        turned = {f"{one}_h": f"{one}_w" for one in some}
        back = {v: k for k, v in turned.items()}
        for changed, axes_ in ((turned | back, "hw"), (turned, "w"), (back, "h")):
            yield _renamed(indices, changed), f"options of {axes_}: {', '.join(some)}"


def _renamed(
    indices: Indices,
    coefficients: Mapping[str, str],
    variables: Mapping[str, str] = MappingProxyType({}),
) -> Indices:
    """With other coefficients, and other variables, where a new name is given."""
    return tuple(
        tuple((coefficients.get(c, c), variables.get(v, v)) for c, v in index)
        for index in indices
    )


def _wrong_index(index: Index, loops: Sequence[str], form: Form) -> Iterator[Index]:
    """One index with another coefficient or another loop variable in one term, or with
    another variable in its place.
    """
    for at, (coefficient, loop) in enumerate(index):
        others: list[Term] = [("0", loop)] if loop else []
        if loop in loops and coefficient in ("1", "C", "M"):
            others += [(c, loop) for c in ("1", "C", "M", "G") if _known(c, index)]
            others += [(coefficient, f"~{loop}"), (coefficient, f"^{loop}")]
        if loop:
            others += [
                (coefficient, o) for o in loops if _alike(loop, o) or len(loops) < 6
            ]
        if loop == "group":
            others += [(coefficient, f"{o}[group,filter]") for o in form.expressions]
        for term in others:
            if term != index[at]:
                yield (*index[:at], term, *index[at + 1 :])
    yield (*index, ("1", ""))
    yield (*index, ("-1", ""))
    if len(index) == 2:
        (_, block), (_, inside) = index
        yield (("1", block), ("G", inside))  # blocks read as interleaved
        yield tuple(("0", loop) for _, loop in index)
        yield tuple((c, f"~{loop}") for c, loop in index)
        alike = [o for o in loops if _alike(block, o) or len(loops) < 6]
        for other in (*alike, *(f"{o}[group,filter]" for o in form.expressions)):
            yield (("1", other),)


def _alike(loop: str, other: str) -> bool:
    """Whether two loop variables are of one kind."""
    return any({loop, other} <= set(kind.split()) for kind in KINDS)


def _known(coefficient: str, index: Index) -> bool:
    """Whether a number of channels means something in this index."""
    return coefficient == "1" or len(index) == 2


def _orders(count: int, *, every: bool) -> Iterator[tuple[int, ...]]:
    """Two axes in each other's place; of few axes every order."""
    right = tuple(range(count))
    if every and count < 5:
        yield from (o for o in itertools.permutations(right) if o != right)
        return
    for first, second in itertools.combinations(right, 2):
        made = list(right)
        made[first], made[second] = second, first
        yield tuple(made)


# ---- loops ---------------------------------------------------------------------------


def _ranges(sum_: Sum, target: str, form: Form) -> Iterator[Edit]:
    """Loops that leave iterations out."""
    loops, inside = loops_of(sum_), summed(sum_, target)
    for ends, where in (
        ((1, 0), "begins at 1"),
        ((0, 1), "ends one iteration early"),
    ):
        for loop in loops:
            made = replace(sum_, skipped={loop: ends})
            words = f"a loop over {loop} that {where}"
            yield Edit("loop_short", words, made, words)
    for ends, which in (((0, ALL_BUT_ONE), "first"), ((ALL_BUT_ONE, 0), "last")):
        kept = ((loop,) for loop in loops if loop not in inside)
        for some in (*_subsets(inside, 3), *kept):
            made = replace(sum_, skipped=dict.fromkeys(some, ends))
            words = f"the {which} iteration over {listed(some)} alone"
            yield Edit("one_iteration", words, made, f"{which} {','.join(some)}")
        meet = [tuple(inside)] if inside and sum_.padded else []
        for some in form.writes.get(target, meet):
            if not set(some) <= set(loops):
                continue
            made = replace(sum_, kept=which, kept_over=some)
            words = f"= in place of +=, where the {which} product stays"
            yield Edit("one_iteration", words, made, f"kept {which} {','.join(some)}")
    for loop in inside:
        if not any(((("1", loop),) in t) for t in sum_.tensors.values()):
            for tile in TILES:
                made = replace(sum_, tiles={loop: tile})
                words = f"a loop over {loop} that makes whole tiles of {tile} alone"
                yield Edit("loop_short", words, made, f"tail {loop}")
    for loop in loops:
        factors = [name for name in sum_.tensors if name != target]
        for mark, value in (("0", f"0*{loop}"), ("^", f"{loop.upper()} - 1")):
            made, count = sum_, 0
            for name in factors:
                wrong = _at_end(sum_.tensors[name], loop, mark)
                count += wrong != sum_.tensors[name]
                made = _with_indices(made, name, wrong)
            if count > 1:
                words = f"{loop} = {value} in each factor"
                key = f"all {loop} = {value.replace('0*' + loop, '0')}"
                yield Edit("index_wrong", words, made, key)


def _at_end(indices: Indices, loop: str, mark: str) -> Indices:
    """With the first or the last value of a loop in place of all."""
    ends = {("1", loop): ("0", loop) if mark == "0" else ("1", f"^{loop}")}
    return tuple(tuple(ends.get(term, term) for term in index) for index in indices)


def _tails(sum_: Sum, target: str, form: Form) -> Iterator[Edit]:
    """A tensor without what does not fill a tile."""
    for name, indices in sum_.tensors.items():
        count = len(indices)
        some: list[tuple[int, ...]] = [(axis,) for axis in range(count)]
        if name == target:
            some += [
                s
                for s in _subsets(range(1, count), 3)
                if len(s) > 1 and s[-1] == count - 1
            ]
        flat = range(0 if name == target else 1, count - 1)
        more = MORE_TILES if count < 4 and name != target else ()
        for tile in (*TILES, *more):
            tails = [Tail(name, axes, tile) for axes in some]
            tails += [Tail(name, (first,), tile, how="flat") for first in flat]
            if name == target and count > 1:
                tails.append(Tail(name, (count - 2, count - 1), tile, how="corner"))
            for tail in tails:
                letters = ",".join(form.axes[name][axis] for axis in tail.axes)
                along = (
                    f"{letters} and the axes after it"
                    if tail.how == "flat"
                    else letters
                )
                words = f"'{name}' without its last tile of {tile} along {along}"
                made = replace(sum_, tail=tail)
                key = f"tail {name} {letters}{' ' + tail.how if tail.how else ''}"
                yield Edit("loop_short", words, made, key)


def _borders(sum_: Sum, target: str) -> Iterator[Edit]:
    """Another border of the padded tensor."""
    name = sum_.padded
    if name == target:
        own = sum_.tensors[name]
        rests = [(("1", f"rest_{axis}"),) for axis in BOTH]
        wrong = (*own[:-2], *(a + b for a, b in zip(own[-2:], rests)))
        words = "a division by the stride that ignores its rest"
        yield Edit("index_wrong", words, _with_indices(sum_, name, wrong), "rests")
    for outside, words in OUTSIDE.items():
        made = replace(sum_, outside=outside)
        key = f"outside {outside}"
        yield Edit("index_wrong", f"padding that holds {words}", made, key)
    for axes in (BOTH, *((axis,) for axis in BOTH)):
        there = "".join(axes)
        for low, high, words in (
            ("1", "0", "a border test that treats the first place as padding"),
            ("0", "1", "a border test that treats the last place as padding"),
            ("1", "1", "a border test that treats both ends as padding"),
            ("0", "stride", "one window less for each kernel position"),
        ):
            hidden = {}
            for axis in axes:
                end = high if high.isdigit() else f"{high}_{axis}"
                hidden[len(sum_.tensors[name]) - 2 + BOTH.index(axis)] = low, end
            key = f"hidden {low},{high} {there}"
            yield Edit("loop_short", words, replace(sum_, hidden=hidden), key)


def _subsets(names: Sequence[N], most: int) -> Iterator[tuple[N, ...]]:
    """Up to so many of the names together, few first."""
    for count in range(1, most + 1):
        yield from itertools.combinations(names, count)


# ---- words ---------------------------------------------------------------------------


def _sum_words(sum_: Sum) -> str:
    """The bias, or the sum of products."""
    return "'bias'" if "bias" in sum_.tensors else "the sum"


def _index_words(name: str, right: Indices, wrong: Indices, form: Form) -> str:
    """The indices that are changed, as a line of code."""
    lines = [
        f"{called} = {_in_code(index, form)}"
        for called, index, before in zip(form.axes[name], wrong, right)
        if index != before
    ]
    noun = "index" if len(lines) == 1 else "indices"
    return f"the {noun} `{'`, `'.join(lines)}` of '{name}'"


def _in_code(index: Index, form: Form) -> str:
    """oh*stride_h + kh*dilation_h - padding_h."""
    text = ""
    for coefficient, loop in index:
        sign = "-" if coefficient.startswith("-") else "+"
        factor = coefficient.removeprefix("-")
        factor = form.shown.get(factor, factor)
        if factor == "0":
            continue
        words = [_variable(loop)] if loop else []
        words += [factor] if factor != "1" or not loop else []
        text += f" {sign} {'*'.join(words)}"
    text = text.removeprefix(" + ").strip() or "0"
    return text[1:-1] if re.fullmatch(r"\([^()]*\)", text) else text


def _variable(loop: str) -> str:
    """kh, (KH - 1 - kh) of "~kh", KH - 1 of "^kh", oc % G of "oc % G[group,filter]"."""
    name = loop.lstrip("~^")
    if loop.startswith("~"):
        return f"({name.upper()} - 1 - {name})"
    if loop.startswith("^"):
        return f"({name.upper()} - 1)"
    expression = name.partition("[")[0]
    return name if expression.isidentifier() and expression != "oc" else expression
