# SPDX-License-Identifier: MIT
"""`make train`: trains, compares and profiles, with a bar, and prints the results."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
OURS = ("", "common/python", "grader/python")  # grader, signatures, convlab
sys.path[0:1] = [str(HERE.parent), *(str(ROOT / folder) for folder in OURS)]
os.environ.setdefault("KINETO_LOG_LEVEL", "6")  # the profiler's own lines

import torch  # noqa: E402
from rich import box  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.markup import escape  # noqa: E402
from rich.progress import (  # noqa: E402
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table  # noqa: E402

from grader.engine.results import environment  # noqa: E402
from grader.errors import GraderError  # noqa: E402
from grader.toolchain.make import build_folder  # noqa: E402
from train import data, layers, loop, page, profiler, roles  # noqa: E402
from train.data import Absent, Data  # noqa: E402
from train.loop import Run  # noqa: E402
from train.network import NETS  # noqa: E402
from train.options import DTYPES, Chosen, command, read_options  # noqa: E402

console = Console(highlight=False)


def main() -> int:
    """Train, compare, profile, write; 1 if nothing could be trained."""
    chosen = read_options()
    if chosen.threads > 0:
        torch.set_num_threads(chosen.threads)
    torch.backends.cudnn.allow_tf32 = False  # float32 that is float32
    folder = build_folder() / "train"
    to = Path(chosen.to or folder)
    for place in (folder, to):
        place.mkdir(parents=True, exist_ok=True)
    try:
        found = data.load(chosen.data, folder)
    except Absent as absent:
        return complain(str(absent))
    found = found.to(chosen.device, DTYPES[chosen.dtype])
    runs = begin(chosen, found)
    if not runs:
        return complain("nothing is left to train")
    trained(runs, found)
    allowed = None
    if runs[0].layers.name == "pytorch" and len(runs) > 1:
        allowed = loop.allowed(found, runs[0])
    show(page.trained(runs))
    say(page.verdict(runs, allowed))
    profiles = profiled(runs, found, folder) if chosen.profile else []
    about = page.Circumstances(
        command(chosen),
        chosen.net,
        chosen.data,
        chosen.dtype,
        chosen.device,
        chosen.seed,
        environment()["cpu"],
    )
    file = page.write(to, about, runs, allowed, profiles)
    say(f"{os.path.relpath(file)}, {os.path.relpath(file.with_suffix('.png'))}")
    return 0


def begin(chosen: Chosen, found: Data) -> list[Run]:
    """A run for every make that is there; a sentence for one that is not."""
    runs, network = [], NETS[chosen.net]
    for name in chosen.variants:
        try:
            made = layers.make(name, network, chosen.device)
        except Absent as absent:
            complain(str(absent))
        else:
            runs.append(loop.start(made, found, chosen.seed, chosen.epochs, network))
    runs.sort(key=lambda run: run.layers.name != "pytorch")  # the others are compared
    return runs


def trained(runs: Sequence[Run], found: Data) -> None:
    """All epochs, under a bar for each make."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[state]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as bar:
        bars = {
            run.layers.name: bar.add_task(run.layers.name, total=run.epochs, state="")
            for run in runs
        }
        for run in loop.train(runs, found):
            state = f"loss {run.losses[-1]:.3f}, accuracy {run.accuracies[-1]:.3f}"
            bar.update(bars[run.layers.name], advance=1, state=state)


def profiled(runs: Sequence[Run], found: Data, folder: Path) -> list[roles.Profile]:
    """Every make's step taken apart, and shown."""
    profiles = profiler.profiles(runs, found.train, folder)
    show(page.by_role(profiles))
    for role in page.roles(profiles):
        show(page.by_operator(profiles, role))
    for profile in profiles:
        say(f"{os.path.relpath(profile.trace)}: open it in https://ui.perfetto.dev")
    return profiles


def show(table: page.Table) -> None:
    """A table, as wide as it is."""
    drawn = Table(title=f"\n{table.title}", title_justify="left", box=box.SIMPLE_HEAD)
    for column, head in enumerate(table.heads):
        side = "left" if column < table.texts else "right"
        drawn.add_column(head, justify=side, overflow="fold")
    for cells in table.rows:
        drawn.add_row(*(escape(cell.strip("`")) for cell in cells))
    console.print(drawn)


def say(sentence: str) -> None:
    """A line of text."""
    console.print(escape(sentence), soft_wrap=False)


def complain(sentence: str) -> int:
    """What is wrong, beside the output; gives the exit status."""
    print(f"convlab: {sentence}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except GraderError as error:
        sys.exit(complain(str(error)))
    except OSError as error:  # of TO=, or of a full disk
        sys.exit(complain(f"{error.filename or 'a file'}: {error.strerror}"))
