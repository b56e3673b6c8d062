# SPDX-License-Identifier: MIT
"""Writes subm_conv3d as a sum of products.

A table has the row of each point's neighbour at each kernel position, or -1. Wrong
searches give other tables.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import torch

from grader.diagnosis.mistakes.formulas import row_major
from grader.diagnosis.mistakes.mistake import Setting
from grader.diagnosis.search.summed_operator import Form, numbers_of_case, other, plain
from grader.diagnosis.search.sums import Index, Numbers, Sum

T = torch.Tensor
AXES = tuple(s for n in (1, 2, 3) for s in itertools.combinations(range(3), n))
PAIRS = AXES[3:6]  # of axes


def _found(points: T, offsets: T, *, last: bool = False) -> tuple[T, T, T]:
    """The rows of the points in order; for each point and offset the place of the
    neighbour there, and whether there is one. `last`: the last of several.
    """
    P, K = len(points), len(offsets)
    wanted = points[:, None].repeat(1, K, 1)  # (P, K, 4)
    wanted[..., 1:] += offsets
    volume = wanted.flatten(0, 1)
    low = torch.minimum(volume.amin(0), points.amin(0))
    span = torch.maximum(volume.amax(0), points.amax(0)) - low + 1
    steps = torch.tensor(row_major(span.tolist()))
    key, wanted_key = ((t - low) @ steps for t in (points, wanted))
    in_order, order = key.sort(stable=True)
    place = torch.searchsorted(in_order, wanted_key, right=last) - int(last)
    place = place.clamp(0, P - 1)
    return order, place, in_order[place] == wanted_key


def _of_points(s: Setting) -> Numbers:
    points, weight = s.inputs["coordinates"].long(), s.inputs["weight"]
    P, (OC, IC, *size), K = len(points), weight.shape, weight[0, 0].numel()
    taps = torch.cartesian_prod(*(torch.arange(n) for n in size)).reshape(K, 3)
    centre = torch.tensor([n // 2 for n in size])
    dilation = torch.tensor(s.options["dilation"])
    order, place, there = _found(points, (taps - centre) * dilation)
    found = torch.where(there, order[place], -1)
    own = torch.arange(P)[:, None]
    tables = {
        "neighbour": found,
        "without_last_row": torch.where(found == P - 1, -1, found),
        "without_last_in_order": torch.where(found == order[-1], -1, found),
        "without_first_in_order": torch.where(found == order[0], -1, found),
        "place_in_order": torch.where(there, place, -1),
        "writer": torch.where(there, own, -1),
        "nobody_is_first": torch.where(there, found, 0),
        "nobody_is_last": torch.where(there, found, P - 1),
        "neighbour_and_itself": torch.cat([found, own], 1),
    }
    offsets = {
        "begins_at_point": taps * dilation,
        "ends_at_point": (taps - torch.tensor(size) + 1) * dilation,
        "dilation_1": taps - centre,
    }
    for a, step in enumerate(dilation):
        offsets[f"dilation_of_{a}"] = (taps - centre) * step
    for a, b in itertools.permutations(range(3), 2):
        wrong = dilation.clone()
        wrong[a] = dilation[b]
        offsets[f"dilation_{b}_along_{a}"] = (taps - centre) * wrong
    for a, b in PAIRS:
        swap = [{a: b, b: a}.get(axis, axis) for axis in range(3)]
        offsets[f"axes_{a}{b}"] = (taps - centre)[:, swap] * dilation
        offsets[f"axes_dilated_{a}{b}"] = ((taps - centre) * dilation)[:, swap]
    for name, wrong in offsets.items():
        order, place, there = _found(points, wrong)
        tables[name] = torch.where(there, order[place], -1)
    of_one_sample = points * torch.tensor([0, 1, 1, 1])
    for last in (True, False):
        order, place, there = _found(
            of_one_sample, (taps - centre) * dilation, last=last
        )
        tables[f"any_sample_{last}"] = torch.where(there, order[place], -1)
    for axes in AXES:
        turned = torch.arange(K).reshape(size).flip(axes).flatten()
        tables[f"turned_{len(axes)}{axes[0]}{axes[-1]}"] = turned
    sizes = {
        "features": (P, IC),
        "weight": (OC, IC, K),
        "bias": (OC,),
        "output": (P, OC),
    }
    ranges = {"p": P, "k": K, "oc": OC, "ic": IC, "more": K + 1}
    made = numbers_of_case(s, {}, ranges, sizes)
    at_centre = (taps == centre).all(1).double()
    factors = {"centre twice": 1 + at_centre, "others twice": 2 - at_centre}
    factors["centre never"] = 1 - at_centre
    sizes.update(dict.fromkeys(factors, (K,)))
    return replace(made, tables=tables, tensors={**made.tensors, **factors})


def _row(table: str) -> tuple[Index, ...]:
    """The indices of features, by another table."""
    return ((("1", f"{table}[p,k]"),), *plain("ic"))


POINTS = Form(
    Sum(
        {
            "features": _row("neighbour"),
            "weight": plain("oc", "ic", "k"),
            "output": plain("p", "oc"),
        },
        padded="features",
        tested=(0,),
    ),
    Sum({"bias": plain("oc"), "output": plain("p", "oc")}),
    _of_points,
    {
        "features": ("row", "ic"),
        "weight": ("oc", "ic", "k"),
        "output": ("row", "oc"),
        "bias": ("oc",),
    },
    instead={
        "neighbour[p,k]": {
            "without_last_row[p,k]": "a search that never finds the last point",
            "without_last_in_order[p,k]": "a search that never finds the last point "
            "of the sorted list",
            "without_first_in_order[p,k]": "a search that never finds the first point "
            "of the sorted list",
            "place_in_order[p,k]": "the place of a point in the sorted list, used as "
            "its row",
            "writer[p,k]": "the features of the point that is written, at each kernel "
            "position that has a neighbour",
            **{
                f"dilation_{b}_along_{a}[p,k]": f"dilation_{'dhw'[b]} in place of "
                f"dilation_{'dhw'[a]}"
                for a, b in itertools.permutations(range(3), 2)
            },
        },
    },
    writes={"output": [("k",)], "features": [("k",)], "weight": [("p",)]},
    others={
        **{
            f"search {table}": other("weight", {"features": _row(table)})
            for table in (
                *("writer", "nobody_is_first", "nobody_is_last", "begins_at_point"),
                *("ends_at_point", "any_sample_True", "any_sample_False", "dilation_1"),
                *(f"dilation_of_{axis}" for axis in range(3)),
                *(f"axes_{kind}{a}{b}" for kind in ("", "dilated_") for a, b in PAIRS),
            )
        },
        **{
            f"turned {axes}": other(
                "weight",
                {
                    "weight": plain(
                        "oc", "ic", f"turned_{len(axes)}{axes[0]}{axes[-1]}[k]"
                    )
                },
            )
            for axes in AXES
        },
        **{
            name: other("weight", {name: plain("k")})
            for name in ("centre twice", "others twice", "centre never")
        },
        **{
            f"bias for each {table}": other(
                "bias",
                {"features": ((("1", f"{table}[p,{loop}]"),), (("0", ""),))},
                padded="features",
                tested=(0,),
                powers={"features": 0},
            )
            for table, loop in (("neighbour", "k"), ("neighbour_and_itself", "more"))
        },
    },
)
