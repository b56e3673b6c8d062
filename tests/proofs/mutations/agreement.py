# SPDX-License-Identifier: MIT
"""When do two results count as the same? Bit for bit, or nearly, as said here."""

from __future__ import annotations

import numpy as np

from tests.proofs.mutations.cases import Array

ULPS = 4.0  # units in the last place of the sum of absolute values


class DifferenceError(Exception):
    """The mutation does not do what the reference does; the sentence says where."""


def same(a: Array, b: Array) -> bool:
    """Bit for bit; NaN equals itself."""
    return a.tobytes() == b.tobytes()


def ulps(right: Array, got: Array, magnitude: Array, what: str) -> float:
    """How far apart, in units of the last place. Raises DifferenceError if too far."""
    if right.shape != got.shape:
        raise DifferenceError(f"{what}: shape {got.shape}, expected {right.shape}")
    with np.errstate(invalid="ignore"):
        far = np.abs(right - got) / np.spacing(np.abs(magnitude))
    far = np.where((right == got) | (np.isnan(right) & np.isnan(got)), 0.0, far)
    if not np.all(far <= ULPS):
        i = int(np.argmax(~(far <= ULPS)))
        raise DifferenceError(
            f"{what}: element {i} is {got.flat[i]!r}, expected {right.flat[i]!r}"
        )
    return float(far.max(initial=0.0))
