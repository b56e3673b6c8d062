# SPDX-License-Identifier: MIT
"""`make bench NET=resnet18` times a whole network with PyTorch's layers and with lab
05's.

Both sides are the same definition (labs/05_torch_extension/nets) with the same random
weights. They take turns in rounds (timing.py). Each side has its own images, filled
anew before each sample. `forward` is what a user runs: eval(), no graph. `step` is a
step of training: forward, loss, backward, optimizer. Then one step of each side runs
with a hook around every layer (layer_times.py), to show where the time goes.

A table is kept for each network and ISA=. A run measures the selected rows. The other
rows stay, if they are from this machine and this PyTorch.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from grader.bench import layer_times
from grader.bench.extension_module import beside, loaded
from grader.bench.network_table import MAKES, PARTS, Row, key_order, page, read, whole
from grader.bench.request import Wanted, card, command, folder, write_files
from grader.checks.speed import machine, timing
from grader.course.foreign import one_line
from grader.engine import results
from grader.engine.answers import earlier_links
from grader.errors import GraderError
from grader.report import terminal
from grader.runner.supervisor.cores import pin
from grader.toolchain import isa
from grader.toolchain.extension import package

OPERATORS = ("conv2d", "depthwise_conv2d", "linear")  # that the networks call
IMAGES = ("1", "8")
SIZE = 224  # height and width of an image
BUDGET = 10.0  # seconds for one row, or
PAIRS = 4  # so many times both sides; a third of what 9 rounds and the warm-up take
TRIES = 2  # of rows that take no longer than BUDGET
WATCHED = 3.0  # seconds for looking into the layers, of each make
RATE = 1e-4  # of the optimizer: so small that the weights stay what they are


def names() -> tuple[str, ...]:
    """The networks that there are."""
    return tuple(beside("nets").NETS)


def bench(net: str, wanted: Wanted) -> int:
    """Measure, print, write. Returns 1 if an output was wrong.

    Raises GraderError for an unknown network, part or number of images, or if what the
    networks call is not built.
    """
    _verify(net, wanted)
    for sentence in package.in_place(list(OPERATORS), earlier_links.kernel_links()):
        terminal.say(sentence)
    loaded(*OPERATORS)
    torch.set_num_threads(wanted.threads)
    machine.keep_memory()
    pin(wanted.threads)
    with machine.Peaks() as found:
        rows = list(_rows(net, wanted))
        peaks = found.as_json()
    environment = {**results.environment(), "machine": peaks}
    stem = f"networks_{net}{isa.suffix()}"
    every = {row.key: row for row in read(folder() / f"{stem}.json", environment)}
    every |= {row.key: row for row in rows}
    sorted_rows = [every[key] for key in sorted(every, key=key_order)]
    text = page(net, SIZE, sorted_rows, card(peaks, wanted))
    print(text)
    numbers = json.dumps(whole(net, sorted_rows, environment), indent=1)
    files = {f"{stem}.json": f"{numbers}\n", f"{stem}.md": text}
    terminal.say(f"written: {', '.join(write_files(files))}")
    return int(any(row.wrong for row in rows))


def _verify(net: str, wanted: Wanted) -> None:
    """Raises GraderError for a word that nothing here knows."""
    if net not in names():
        raise GraderError(f"NET={one_line(net)}: expected one of {', '.join(names())}")
    for part in wanted.parts:
        if part not in PARTS:
            raise GraderError(
                f"PARTS={part}: for a network, expected {' or '.join(PARTS)}"
            )
    for images in wanted.cases:
        if not images.isdecimal() or len(images) > 4 or not int(images):
            raise GraderError(
                f"CASES={images}: for a network, expected numbers of images, like "
                "CASES=1,8"
            )


# ---- one row -------------------------------------------------------------------------


def _rows(net: str, wanted: Wanted) -> Iterator[Row]:
    for images in map(int, wanted.cases or IMAGES):
        for part in wanted.parts or PARTS:
            words = f"{net}, {images} image{'s' * (images > 1)}, {part}"
            terminal.say(f"{words}: PyTorch's layers and ours take turns ...")
            row = _row(net, images, part, wanted)
            theirs, ours = (1e3 * row.seconds[make] for make in MAKES)
            interval = f"{row.ratio.low:.2f} .. {row.ratio.high:.2f}"
            terminal.say(
                f"{words}: PyTorch {theirs:.1f} ms, ours {ours:.1f} ms, "
                f"{row.ratio.value:.2f} times as fast ({interval})"
            )
            yield row


def _row(net: str, images: int, part: str, wanted: Wanted) -> Row:
    data = Data(images, wanted.seed)
    sides = {make: Network(net, make, part, data, wanted.seed) for make in MAKES}
    begin = time.monotonic()
    try:
        error, gradient_error = _errors(sides)
    except (NotImplementedError, RuntimeError) as why:
        said = str(why).partition("\n")[0] or repr(why)
        raise GraderError(
            f"{net} cannot run with the layers of lab 05: {said}; make grade LAB=05 "
            "shows which files are missing"
        ) from why
    budget = max(BUDGET, PAIRS * (time.monotonic() - begin))
    tries = TRIES if budget == BUDGET else 1
    rounds, settled = timing.settle(
        dict(sides),
        MAKES,
        seed=wanted.seed,
        budget=budget,
        tries=tries,
        before=data.renew,
    )
    watched = {make: sides[make].watched() for make in MAKES}
    return Row(
        images,
        part,
        wanted.threads,
        isa.name(),
        {make: rounds.median(make) for make in MAKES},
        rounds.ratio(*MAKES),
        not settled,
        rounds.count,
        error,
        gradient_error,
        {make: seen.layers for make, seen in watched.items()},
        {make: seen.whole for make, seen in watched.items()},
        command(wanted),
    )


class Data:
    """Images of one round, and what is drawn to compare the scores with."""

    def __init__(self, images: int, seed: int) -> None:
        self.random = torch.Generator().manual_seed(seed)
        self.images = torch.empty(images, 3, SIZE, SIZE)
        self.renew()

    def renew(self) -> None:
        """Other images."""
        self.images.normal_(generator=self.random)

    def labels(self, scores: Tensor) -> Tensor:
        """A class for each answer: of an image, or of a pixel."""
        sizes = (scores.shape[0], *scores.shape[2:])
        return torch.randint(scores.shape[1], sizes, generator=self.random)


@dataclass(frozen=True)
class Seen:
    """Of some calls with hooks the least: what is above it is the machine's."""

    whole: float  # seconds of a call
    layers: list[tuple[str, str, float]]  # kind, sizes, seconds


class Network:
    """One make of a network, as a side of timing.measure."""

    def __init__(self, net: str, make: str, part: str, data: Data, seed: int) -> None:
        layers = getattr(beside("train.layers"), make)()
        self.network = beside("nets").drawn(net, layers, seed).train(part == "step")
        self.part, self.data = part, data
        self.images = data.images.clone()
        self.labels: Tensor | None = None
        self.watch = timing.Stopwatch()
        weights = self.network.parameters()
        self.optimizer = torch.optim.SGD(weights, RATE, momentum=0.9)

    def prepare(self) -> None:
        """The images of this round."""
        self.images.copy_(self.data.images)

    def once(self) -> Tensor:
        """The scores of the images; a step of training too, if that is the part."""
        if self.part == "forward":
            with torch.no_grad():
                return self.network(self.images)  # type: ignore[no-any-return]
        self.optimizer.zero_grad()
        scores: Tensor = self.network(self.images)
        if self.labels is None:
            self.labels = self.data.labels(scores)
        torch.nn.functional.cross_entropy(scores, self.labels).backward()
        self.optimizer.step()
        return scores.detach()

    def sample(self) -> timing.Sample:
        """Seconds of a call."""
        return self.watch.time(self.once)

    def gradients(self) -> Tensor:
        """Of all weights by the last step, in a row."""
        every = (one.grad for one in self.network.parameters())
        return torch.cat([one.flatten() for one in every if one is not None]).double()

    def watched(self) -> Seen:
        """Some calls with a hook around every layer."""
        watch = layer_times.Watch()
        wholes: list[float] = []
        found = []
        end = time.monotonic() + WATCHED
        while not wholes or time.monotonic() < end:
            self.prepare()
            with watch.around(self.network):
                begin = watch.now()
                self.once()
                wholes.append(watch.now() - begin)
            found.append(watch.take())
        layers = [
            (layer.kind, layer.sizes, min(one[layer] for one in found))
            for layer in found[0]
        ]
        return Seen(min(wholes), layers)


def _errors(sides: Mapping[str, Network]) -> tuple[float, float | None]:
    """The largest difference of an output, and that of all gradients as one vector."""
    theirs, mine = (sides[make] for make in MAKES)
    for side in sides.values():
        side.prepare()
    expected = theirs.once()
    mine.labels = theirs.labels
    error = _off(mine.once(), expected)
    if theirs.part == "forward":
        return error, None
    found, right = mine.gradients(), theirs.gradients()
    return error, float((found - right).norm() / right.norm())


def _off(found: Tensor, right: Tensor) -> float:
    """As a share of the largest number; infinite where something is not finite."""
    off = float((found.double() - right.double()).abs().max())
    share = off / float(right.abs().max())
    return share if share == share else float("inf")
