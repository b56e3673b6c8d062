# SPDX-License-Identifier: MIT
"""Pictures for the notebooks: tables of numbers, windows that slide, memory.

Each function draws one figure and shows it. Colours mean the same everywhere. A number
of a kernel has the colour of its kernel position. An element in memory has the colour
of its row. Zeros and unused numbers are pale.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb")
PALE, EDGE = "#f4f4f4", "#999999"
CELL = 0.46  # inches


def _number(value: float) -> str:
    return f"{value:g}" if abs(value - round(value)) < 1e-9 else f"{value:.1f}"


def _cell(ax: Axes, x: float, y: float, text: str, colour: str = PALE) -> None:
    ax.add_patch(Rectangle((x, y), 1, 1, facecolor=colour, edgecolor=EDGE, linewidth=1))
    ink = "black" if colour in (PALE, "#ccbb44", "#66ccee", "#bbbbbb") else "white"
    ax.text(x + 0.5, y + 0.53, text, ha="center", va="center", color=ink, fontsize=10)


def _canvas(columns: float, rows: float) -> tuple[Any, Axes]:
    figure, ax = plt.subplots(figsize=(CELL * columns, CELL * rows))
    ax.set_xlim(-0.05, columns + 0.05)  # room for the lines
    ax.set_ylim(rows + 0.05, -0.05)  # rows are counted from the top, as in a matrix
    ax.set_aspect("equal")
    ax.axis("off")
    return figure, ax


def _show(figure: Any) -> None:
    plt.show()
    plt.close(figure)


def _label(ax: Axes, x: float, y: float, text: str, *, right: bool = False) -> None:
    side = "right" if right else "left"
    ax.text(x, y + 0.53, text, ha=side, va="center", fontsize=10)


def _shades(weight: torch.Tensor) -> dict[float, str]:
    """A colour for each number of a kernel, the same if the kernel is flipped."""
    numbers = sorted(set(weight.flatten().tolist()))
    return {value: COLOURS[k % len(COLOURS)] for k, value in enumerate(numbers)}


# ---- convolution ---------------------------------------------------------------------


def sliding(
    x: torch.Tensor,
    w: torch.Tensor,
    *,
    stride: int = 1,
    padding: int = 0,
    names: tuple[str, str, str] = ("x", "w", "y"),
) -> None:
    """The kernel w at every place over x, and the sum it makes there."""
    padded = torch.nn.functional.pad(x, (padding, padding))
    places = range(0, len(padded) - len(w) + 1, stride)
    figure, ax = _canvas(len(padded) + 7, len(places) + 2)
    shades = _shades(w)
    _label(ax, 1.6, 0, names[0], right=True)
    for i, value in enumerate(padded.tolist()):
        outside = i < padding or i >= padding + len(x)
        _cell(ax, 2 + i, 0, _number(value), PALE if outside else "#bbbbbb")
    for row, place in enumerate(places, start=1):
        _label(ax, 1.6, row + 0.5, names[1], right=True)
        for k, value in enumerate(w.tolist()):
            _cell(ax, 2 + place + k, row + 0.5, _number(value), shades[value])
        total = float((padded[place : place + len(w)] * w).sum())
        text = f"{names[2]}[{row - 1}] = {_number(total)}"
        _label(ax, 2.6 + len(padded), row + 0.5, text)
    _show(figure)


def matrix(
    values: torch.Tensor,
    kernel: torch.Tensor | None = None,
    *,
    title: str = "",
    rows: str = "",
    columns: str = "",
) -> None:
    """A table of numbers; those of `kernel` have its colours, zeros stay empty."""
    shades = {} if kernel is None else _shades(kernel)
    height, width = values.shape
    top = 2 if columns else 1
    figure, ax = _canvas(width + 3, height + top)
    _label(ax, 0, 0, title)
    for i, line in enumerate(values.tolist()):
        _label(ax, 1.7, i + top, f"{rows}[{i}]" if rows else "", right=True)
        for j, value in enumerate(line):
            colour = shades.get(float(value), PALE if value == 0 else "#bbbbbb")
            text = "" if value == 0 and kernel is not None else _number(value)
            _cell(ax, 2 + j, i + top, text, colour)
    if columns:
        for j in range(width):
            ax.text(2.5 + j, top - 0.25, f"{columns}[{j}]", ha="center", fontsize=8)
    _show(figure)


def rows(tables: Sequence[tuple[str, torch.Tensor, int]]) -> None:
    """Rows of numbers under each other: a name, numbers, how far they are indented."""
    longest = max(len(values) + indent for _, values, indent in tables)
    figure, ax = _canvas(longest + 9, 1.4 * len(tables))
    for line, (name, values, indent) in enumerate(tables):
        _label(ax, 8.6, 1.4 * line, name, right=True)
        for i, value in enumerate(values.tolist()):
            colour = PALE if value == 0 else "#bbbbbb"
            _cell(ax, 9 + indent + i, 1.4 * line, _number(value), colour)
    _show(figure)


def images(pictures: Sequence[tuple[str, torch.Tensor]]) -> None:
    """Planes of numbers as grey pictures side by side; negative is blue."""
    count = len(pictures)
    figure, axes = plt.subplots(1, count, figsize=(2.6 * count, 2.8), squeeze=False)
    for ax, (title, plane) in zip(axes[0], pictures):
        reach = float(plane.abs().max()) or 1.0
        signed = bool((plane < 0).any())
        style = {"cmap": "RdBu_r", "vmin": -reach} if signed else {"cmap": "gray"}
        ax.imshow(plane.numpy(), vmax=reach, **style)
        ax.set_title(title, fontsize=10)
        ax.axis("off")
    plt.tight_layout()
    _show(figure)


# ---- memory --------------------------------------------------------------------------


def memory(tensor: torch.Tensor, *, title: str = "") -> None:
    """A tensor of one or two axes, and where its elements lie in its storage.

    Under each place of the storage stand the indices that lead there.
    """
    view = tensor if tensor.dim() == 2 else tensor.reshape(1, -1)
    steps = tensor.stride() if tensor.dim() == 2 else (0, *tensor.stride())
    base = torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage())
    height, width = view.shape
    figure, ax = _canvas(max(len(base), width + 9) + 3, height + 4.6)
    text = f"size {tuple(tensor.shape)}, stride {tensor.stride()}, "
    text += f"starts at element {tensor.storage_offset()}"
    _label(ax, width + 2.5, (height - 1) / 2, text)
    found: dict[int, list[tuple[int, int]]] = {}
    for i in range(height):
        for j in range(width):
            _cell(ax, 2 + j, i, _number(float(view[i, j])), COLOURS[i % len(COLOURS)])
            place = int(tensor.storage_offset()) + i * steps[0] + j * steps[1]
            found.setdefault(place, []).append((i, j))
    _label(ax, 1.6, height + 1, "memory", right=True)
    for place, value in enumerate(base.tolist()):
        users = found.get(place, [])
        colour = COLOURS[users[0][0] % len(COLOURS)] if users else PALE
        _cell(ax, 2 + place, height + 1, _number(value), colour)
        names = [f"{i},{j}" if tensor.dim() == 2 else f"{j}" for i, j in users]
        said = "\n".join([*names[:3], "..."] if len(names) > 3 else names)
        ax.text(2.5 + place, height + 2.3, said, ha="center", va="top", fontsize=8)
    ax.set_title(title, fontsize=11, loc="left")
    _show(figure)


def lines(
    points: dict[str, tuple[Sequence[float], Sequence[float]]],
    *,
    x: str,
    y: str,
    logarithmic: str = "",
) -> None:
    """Curves over each other; `logarithmic` names the axes: "x", "xy"."""
    figure, ax = plt.subplots(figsize=(6, 3.4))
    for k, (name, (left, up)) in enumerate(points.items()):
        ax.plot(left, up, "o-", color=COLOURS[k], label=name, markersize=4)
    if "x" in logarithmic:
        ax.set_xscale("log", base=2 if "2" in logarithmic else 10)
    if "y" in logarithmic:
        ax.set_yscale("log")
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.grid(visible=True, alpha=0.3)
    if len(points) > 1:
        ax.legend()
    _show(figure)
