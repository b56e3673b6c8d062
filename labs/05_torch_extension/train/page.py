# SPDX-License-Identifier: MIT
"""train.md and its picture, train.png: what a training run leaves behind."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from train import profiler
from train.loop import BATCH, FACTOR, STEPS, Run, apart
from train.roles import PROFILED, ROLES, Profile, Row

LEAST = 0.5  # per cent of a step, below which an operator is not listed
PALETTE = ("#4477aa", "#ee6677", "#228833", "#aa3377")


@dataclass(frozen=True)
class Table:
    """A title, heads of columns, and cells; the first column is text."""

    title: str
    heads: list[str]
    rows: list[list[str]]
    texts: int = 1  # columns of text, at the left

    def markdown(self) -> str:
        """As a table of Markdown."""
        rule = ["---"] * self.texts + ["--:"] * (len(self.heads) - self.texts)
        lines = [f"| {' | '.join(cells)} |" for cells in (self.heads, *self.rows)]
        return "\n".join([lines[0], f"|{'|'.join(rule)}|", *lines[1:]])


# ---- the training --------------------------------------------------------------------


def trained(runs: Sequence[Run]) -> Table:
    """Accuracy and seconds of each make; how far its losses are from PyTorch's."""
    first = runs[0]
    against = first if first.layers.name == "pytorch" else None
    rows = []
    for run in runs:
        gap = "" if against in (None, run) else f"{apart(run, against):.1e}"
        rows.append(
            [
                run.layers.name,
                run.layers.about,
                f"{100 * run.accuracies[-1]:.2f} %",
                f"{run.median:.3f}",
                f"{run.median / first.median:.2f}",
                f"{min(run.seconds):.3f}",
                gap,
            ]
        )
    heads = ["layers", "what they are", "accuracy", "s/epoch"]
    heads += [f"x {first.layers.name}", "least s", "loss apart"]
    return Table("The training", heads, rows, texts=2)


def verdict(runs: Sequence[Run], allowed: float | None) -> str:
    """Whether the losses agree, in a sentence."""
    first, *others = runs
    if allowed is None or not others:
        return "Nothing was compared: that takes pytorch and one make more."
    far = [run.layers.name for run in others if apart(run, first) > allowed]
    float64 = next(first.network.parameters()).dtype == torch.float64
    measure = (
        "in float64"
        if float64
        else f"{FACTOR} times what PyTorch in float32 differs from PyTorch in float64"
    )
    said = f"Allowed in the first {STEPS} steps are {allowed:.1e}, {measure}: "
    if far:
        return said + f"{', '.join(far)} is further apart; look at its gradients."
    return said + "all are within."


def picture(runs: Sequence[Run], allowed: float | None, file: Path) -> None:
    """Losses, accuracies, and how far the losses are apart, in one picture."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    figure, (losses, accuracies, gaps) = plt.subplots(1, 3, figsize=(12, 3.6))
    for k, run in enumerate(runs):
        # the first is drawn widest: where curves are equal, all of them are seen
        style = {"color": PALETTE[k % 4], "linewidth": 2.2 * (len(runs) - k)}
        style |= {"label": run.layers.name, "alpha": 0.8, "solid_capstyle": "butt"}
        losses.plot(run.losses, **style)
        counted = range(1, len(run.accuracies) + 1)
        percents = [100 * share for share in run.accuracies]
        accuracies.plot(counted, percents, marker=".", **style)
        if k and runs[0].layers.name == "pytorch":
            apart = [abs(a - b) for a, b in zip(run.losses, runs[0].losses)]
            thin = {"color": PALETTE[k % 4], "linewidth": 1, "label": run.layers.name}
            gaps.plot([gap or None for gap in apart], marker=".", markersize=2, **thin)
    if allowed:
        gaps.hlines(allowed, 0, STEPS, color="black", label="allowed")
    losses.set(title="loss", xlabel="step", yscale="log")
    accuracies.set(title="test accuracy, %", xlabel="epoch")
    gaps.set(title="loss, apart from pytorch's", xlabel="step", yscale="log")
    for ax in (losses, accuracies, gaps):
        ax.grid(visible=True, alpha=0.3)
        if ax.get_legend_handles_labels()[0]:
            ax.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(file, dpi=110)
    plt.close(figure)


# ---- the profile ---------------------------------------------------------------------


def roles(profiles: Sequence[Profile]) -> list[str]:
    """The kinds of work that this network has."""
    return [role for role in ROLES if any(p.roles[role].calls for p in profiles)]


HEADS = ["in one step", "layers", "calls", "ms", "own ms", "% of the step"]


def by_role(profiles: Sequence[Profile]) -> Table:
    """Each kind of work, one make below the other."""
    rows = []
    for role in roles(profiles):
        rows += _beside(role, {p.name: (p, p.roles[role]) for p in profiles})
    whole = {p.name: (p, Row(p.calls, p.step, p.step)) for p in profiles}
    rows += _beside("the whole step", whole)
    return Table("A step by kinds of work", HEADS, rows, texts=2)


def by_operator(profiles: Sequence[Profile], role: str) -> Table:
    """The operators of one kind of work, one make below the other."""
    found: dict[str, dict[str, tuple[Profile, Row]]] = {}
    for profile in profiles:
        for name, row in profile.operators[role].items():
            found.setdefault(name, {})[profile.name] = profile, row

    def share(name: str) -> float:
        return max(p.share(max(row.total, row.own)) for p, row in found[name].values())

    rows = []
    for name in sorted(found, key=lambda name: (-share(name), name)):
        if share(name) >= LEAST:
            rows += _beside(f"`{name}`", found[name])
    return Table(role.capitalize(), [role, *HEADS[1:]], rows, texts=2)


def _beside(name: str, found: dict[str, tuple[Profile, Row]]) -> list[list[str]]:
    """A line for each make; only the first repeats what is compared."""
    lines = []
    for make, (profile, row) in found.items():
        times = f"{row.total / 1000:.3f}", f"{row.own / 1000:.3f}"
        share = f"{profile.share(row.total):.1f}"
        lines.append(["" if lines else name, make, f"{row.calls:.0f}", *times, share])
    return lines


# ---- the page ------------------------------------------------------------------------


@dataclass(frozen=True)
class Circumstances:
    """What the numbers depend on."""

    command: str
    net: str
    data: str
    dtype: str
    device: str
    seed: int
    cpu: str

    def sentence(self) -> str:
        """For the head of the page."""
        where = self.cpu
        if self.device != "cpu":
            where = f"{torch.cuda.get_device_name()} and {self.cpu}"
        return (
            f"Made by `{self.command}` on {where}, threads: {torch.get_num_threads()}, "
            f"torch {torch.__version__}, Python {platform.python_version()}. "
            f"Network {self.net}, data {self.data}, {self.dtype}, batches of {BATCH}, "
            f"seed {self.seed}. "
            f"At its end {os.getloadavg()[0]:.1f} programs, this one among them, "
            f"wanted the machine's {os.cpu_count()} cores: seconds of a busy machine "
            "say little."
        )


def write(
    folder: Path,
    circumstances: Circumstances,
    runs: Sequence[Run],
    allowed: float | None,
    profiles: Sequence[Profile],
) -> Path:
    """train.md in this folder, and train.png beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    picture(runs, allowed, folder / "train.png")
    parts = ["# One network, four makes of layers", circumstances.sentence()]
    parts += [
        "Accuracy is that on images which were not trained with. The makes take their "
        f"epochs in turn; s/epoch is the median of {len(runs[0].seconds)}. *Apart* is "
        f"the largest difference of a step's loss from pytorch's. "
        f"{verdict(runs, allowed)}",
        trained(runs).markdown(),
        "![losses, accuracies and differences](train.png)",
    ]
    if profiles:
        parts += [
            "## Where a step goes",
            "Calls through the dispatcher: milliseconds with the calls inside, without "
            "them, and the share of the step. Each time is the least of "
            f"{profiler.ROUNDS * PROFILED} steps. "
            f"Operators below {LEAST} % of every make's step are left out. The "
            "profiler makes every call longer: compare these rows with each other, not "
            "with the seconds above.",
            by_role(profiles).markdown(),
            *(by_operator(profiles, role).markdown() for role in roles(profiles)),
        ]
    file = folder / "train.md"
    file.write_text("\n\n".join(parts) + "\n")
    return file
