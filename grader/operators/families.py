# SPDX-License-Identifier: MIT
"""Says in one word what is special about a case: such words share the points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from signatures import Signature

from grader.operators.case import Case

_USUAL = {"groups": 1, "dilation": 1, "stride": 1, "padding": 0}  # what is not special


def family(
    case: Case, shapes: Mapping[str, Sequence[int]], signature: Signature
) -> str:
    """The first that fits: empty, large, layout, then an option. Else plain."""
    if any(0 in shape for shape in shapes.values()):
        return "empty"
    if case.large:
        return "large"
    if any(layout != "contiguous" for layout in case.layout.values()):
        return "layout"
    options = {option.name: option for option in signature.options}
    for name, usual in _USUAL.items():
        given = case.options.get(name, usual)
        if name in options and max(options[name].values(given)) > usual:
            return name
    return "plain"
