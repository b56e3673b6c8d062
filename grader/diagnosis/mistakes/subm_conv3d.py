# SPDX-License-Identifier: MIT
"""Known mistakes of subm_conv3d: of the search, of the pairs, and of their sums."""

from __future__ import annotations

from functools import partial

import torch

from grader.diagnosis.mistakes import formulas
from grader.diagnosis.mistakes.mistake import Mistake, Setting
from grader.diagnosis.mistakes.strides import strides_ignored
from grader.diagnosis.search import sum_mistakes
from grader.operators.entry import Tensors

T = torch.Tensor
known = partial(sum_mistakes.known, "subm_conv3d")


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


MISTAKES = (
    known(
        "offset_turned",
        "points read the neighbours on the other side. The offset of `read` from "
        "`write` is (kd - KD/2, kh - KH/2, kw - KW/2). Are pairs in the wrong "
        "direction?",
        "output turned *",
    ),
    known(
        "pair_turned",
        "a pair (read, write) is used in the wrong direction. Forward takes the value "
        "at `read` and adds to `write`; backward takes the gradient at `write`",
        *("grad_features turned (0, 1, 2)", "grad_weight turned (0, 1, 2)"),
    ),
    Mistake(
        "pair_turned_saved",
        "the rulebook lists pairs (write, read), but a pair must be (read, write)",
        (formulas.answered("rulebook", lambda t, _: t.flip(-1)),),
    ),
    known(
        "gradient_to_writer",
        "the gradient of the features is added to the written point: add it to the "
        "point that was read",
        "grad_features search writer",
    ),
    known(
        "kernel_not_centred",
        "the kernel begins or ends at the point, but the centre (KD/2, KH/2, KW/2) of "
        "the kernel must be there",
        *("* search begins_at_point", "* search ends_at_point"),
    ),
    known(
        "accumulation_missing",
        formulas.ONE_TERM,
        *("output kept *", "without bias kept *", "grad_* kept *"),
    ),
    known(
        "weight_gradient_transposed",
        "the numbers are right, but the axes are in another order",
        "grad_weight weight stored *",
    ),
    known(
        "centre_forgotten",
        "the centre of the kernel is missing: each point must read itself, too",
        "* centre never",
    ),
    known(
        "neighbour_twice",
        "some pairs count twice: a kernel position joins a point with at most one "
        "other point",
        *("output * twice", "output twice the sum", "grad_features * twice"),
        *("grad_features twice the sum", "grad_weight * twice"),
        "grad_weight twice the sum",
    ),
    known(
        "axes_swapped",
        "depth, height and width are exchanged. A row of coordinates is n, z, y, x. A "
        "kernel position is kd, kh, kw",
        *("output search axes_*", "grad_features search axes_*"),
    ),
    known(
        "dilation_ignored",
        "the kernel positions are spaced with the wrong dilation",
        "* search dilation_*",
    ),
    known(
        "batch_ignored",
        "points of different samples are treated as one point: the key must contain n",
        "* search any_sample*",
        formulas.forward_only(formulas.through(_any_sample)),
    ),
    known(
        "nobody_read",
        "if a point has no neighbour, the first or the last row is read instead",
        "* search nobody_is_*",
    ),
    known(
        "bias_per_pair",
        "the bias is added once for each pair: add it once to the whole sum",
        *("bias bias for each *", "grad_bias bias for each *"),
    ),
    formulas.bias_missing(),
    strides_ignored("features", "weight", "bias"),
)
