# SPDX-License-Identifier: MIT
"""Makes cases only for the diagnosis, to separate mistakes that look alike."""

from __future__ import annotations

from typing import Any

from grader.operators import Case, Operator

_IMAGE = {"N": 3, "IC": 6, "IH": 9, "IW": 11, "OC": 6, "KH": 3, "KW": 3}
_WINDOW = {"stride": [2, 3], "padding": [2, 1], "dilation": [1, 2]}
_CONVOLUTION: list[dict[str, Any]] = [
    {},
    {"groups": 3, "IC": 6, "OC": 12},
    {"groups": 2, "KW": 2},
    {"padding": [1, 1], "KH": 5, "KW": 5},
    {"padding": [2, 1]},
    {"stride": [2, 3], "N": 2},
    {"dilation": [2, 3]},
    {**_WINDOW, "KH": 3, "KW": 2},
    {"N": 4, "IC": 5, "OC": 5, "KH": 2, "KW": 4, "padding": [1, 2]},
    {"IC": 3, "OC": 2, "KH": 2, "KW": 2, "layout": {"input": "reversed"}},
    {"N": 2, "padding": 1, "layout": {"weight": "reversed"}},
    {"N": 2, "padding": 1, "layout": {"grad_output": "reversed"}},
    {"N": 2, "OC": 9, "layout": {"bias": "gaps"}},
    {"N": 2, "layout": {"input": "transposed", "grad_output": "transposed"}},
]
_MULTIPLIED = {"OC": 12, "IC": 6}
_PIXELS = {"N": 3, "IC": 2, "IH": 9, "IW": 11, "kernel_size": [3, 2]}
_UNFOLD: list[dict[str, Any]] = [
    {},
    {"padding": [1, 1], "kernel_size": [5, 5]},
    {"padding": [2, 1], "kernel_size": [2, 3]},
    {"stride": [2, 3]},
    {"dilation": [2, 3]},
    {**_WINDOW, "kernel_size": [3, 2]},
    {"layout": {"input": "reversed", "grad_output": "reversed"}},
    {"layout": {"input": "transposed", "grad_output": "transposed"}},
]
_MATRICES: list[tuple[list[int], list[int], dict[str, str]]] = [
    ([5, 5], [5, 5], {}),
    ([9, 9], [9, 9], {}),
    ([4, 3, 3], [4, 3, 3], {}),
    ([7, 10], [10, 7], {}),
    ([2, 3, 6, 4], [2, 3, 4, 5], {}),
    ([11, 13], [13, 21], {}),
    ([5, 9], [9, 6], {"input": "transposed", "grad_output": "transposed"}),
    ([5, 9], [9, 6], {"other": "reversed"}),
    ([3, 5, 4], [3, 4, 6], {"input": "reversed"}),
    ([3, 5, 4], [3, 4, 6], {"other": "reversed"}),
    ([3, 5, 4], [3, 4, 6], {"grad_output": "reversed"}),
]
_ROWS: list[tuple[list[int], int, dict[str, str]]] = [
    ([6, 5], 5, {}),
    ([9, 9], 9, {}),
    ([3, 4, 7], 6, {}),
    ([21, 13], 11, {}),
    ([4, 9], 6, {"input": "transposed", "grad_output": "transposed"}),
    ([4, 9], 6, {"weight": "transposed"}),
    ([4, 9], 9, {"bias": "gaps"}),
]
_CELLS: list[dict[str, Any]] = [
    {"N": 4, "IC": 3, "H": 5},
    {"N": 5, "IC": 4, "H": 4},
    {"N": 3, "IC": 7, "H": 2},
    {"N": 2, "IC": 1, "H": 6},
    {"N": 4, "IC": 3, "H": 5, "layout": {"input": "transposed", "c": "transposed"}},
    {"N": 4, "IC": 3, "H": 3, "layout": {"weight": "transposed"}},
    {"N": 4, "IC": 3, "H": 5, "layout": {"h": "transposed"}},
    {"N": 4, "IC": 3, "H": 5, "layout": {"bias": "gaps"}},
    {"N": 4, "IC": 3, "H": 5, "layout": {"grad_new_h": "transposed"}},
    {"N": 4, "IC": 3, "H": 5, "layout": {"grad_new_c": "transposed"}},
]
_SUMS: list[tuple[list[int], list[int], float, dict[str, str]]] = [
    ([4, 5], [4, 5], 1.75, {}),
    ([4, 5], [4, 5], -3.0, {}),
    ([3, 4, 5], [5], 2.5, {}),
    ([3, 4, 5], [3, 1, 5], 2.5, {}),
    ([4, 1], [3, 4, 5], 0.75, {}),
    ([3, 1, 5], [3, 4, 1], 3.0, {}),
    ([1, 5], [3, 4, 5], 1.0, {}),
    ([3, 4, 5], [4, 1], 1.0, {}),
    ([4, 5], [4, 5], 1.75, {"input": "transposed", "grad_output": "transposed"}),
    ([4, 5], [4, 5], 1.75, {"other": "transposed"}),
    ([3, 4, 5], [3, 4, 5], 1.75, {"input": "reversed", "other": "reversed"}),
    ([3, 4, 5], [4, 1], 0.5, {"grad_output": "reversed"}),
]

_NUMBERS: list[tuple[list[int], dict[str, str]]] = [
    ([4, 5], {}),
    ([3, 4, 5], {}),
    ([4, 5], {"input": "transposed"}),
    ([4, 5], {"grad_output": "transposed"}),
    ([3, 4, 5], {"input": "reversed", "grad_output": "gaps"}),
]
_NORMS: list[tuple[list[int], float, dict[str, str]]] = [
    ([6, 5], 0.1, {}),
    ([9, 9], 0.5, {}),
    ([3, 4, 7], 0.25, {}),
    ([4, 9], 0.1, {"input": "transposed", "grad_output": "transposed"}),
    ([3, 4, 6], 0.1, {"input": "reversed"}),
    ([5, 8], 0.1, {"weight": "gaps"}),
    ([5, 8], 0.1, {"bias": "gaps"}),
    ([7], 0.1, {}),
    ([10], 0.5, {}),
]

_CLOUD = {"N": 2, "P": 120, "IC": 3, "OC": 4, "KD": 3, "KH": 3, "KW": 3}
_POINTS: list[dict[str, Any]] = [
    {},
    {"N": 1, "P": 90},
    {"KD": 1, "KH": 3, "KW": 5},
    {"KD": 5, "KH": 1, "KW": 3},
    {"dilation": [2, 1, 3]},
    {"dilation": [1, 2, 1], "KW": 5},
    {"P": 200, "without": ["bias"]},
    {"layout": {"features": "transposed", "grad_output": "transposed"}},
    {"layout": {"weight": "reversed"}},
    {"layout": {"bias": "gaps", "features": "gaps"}},
]


_LINES: dict[str, list[dict[str, Any]]] = {  # by operator
    "conv2d": [{**_IMAGE, **line} for line in _CONVOLUTION],
    "depthwise_conv2d": [
        {k: v for k, v in (_IMAGE | line | _MULTIPLIED).items() if k != "groups"}
        for line in _CONVOLUTION
    ],
    "unfold": [{**_PIXELS, **line} for line in _UNFOLD],
    "matmul": [
        {"shapes": {"input": a, "other": b}, "layout": layout}
        for a, b, layout in _MATRICES
    ],
    "linear": [
        {"shapes": {"input": a}, "IC": a[-1], "OC": OC, "layout": layout}
        for a, OC, layout in _ROWS
    ],
    "gelu": [
        {"shapes": {"input": a}, "approximate": form, "layout": layout}
        for a, layout in _NUMBERS
        for form in ("none", "tanh")
    ],
    "subm_conv3d": [{**_CLOUD, **line} for line in _POINTS],
    "layer_norm": [
        {"shapes": {"input": a}, "D": a[-1], "eps": eps, "layout": layout}
        for a, eps, layout in _NORMS
    ],
    "add": [
        {"shapes": {"input": a, "other": b}, "alpha": alpha, "layout": layout}
        for a, b, alpha, layout in _SUMS
    ],
    "lltm": _CELLS,
}


def extra_cases(operator: Operator) -> list[Case]:
    """More cases of an operator, all small, of random values. In some of them one
    gradient is not wanted.
    """
    lines, names = _LINES.get(operator.name, []), operator.signature.gradients
    some = [
        {**line, "wanted": [name for name in names if name != unwanted]}
        for line in lines[: 2 * (len(names) > 1)]
        for unwanted in names
    ]
    return [
        operator.case({**line, "name": f"diagnosis_{i}"})
        for i, line in enumerate([*lines, *some])
    ]
