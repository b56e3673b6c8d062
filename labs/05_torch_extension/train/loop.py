# SPDX-License-Identifier: MIT
"""The training: every make of layers starts from the same weights, sees the same
images in the same order, and takes its epochs in turn with the others.

In turn, because a machine is not equally fast all the time: the seconds of an epoch
are comparable only if all of them met the same minutes.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from train.data import Data, Split
from train.layers import Layers, pytorch
from train.network import LeNet, Network

BATCH = 64
MOMENTUM = 0.9
CHUNK = 1000  # images of the test at a time
STEPS = 50  # for which the losses are compared
FACTOR = 5  # times PyTorch's own rounding is allowed in float32 ...
EXACT = 1e-10  # ... and this much in float64


@dataclass
class Run:
    """A network in training, and what has come of it."""

    layers: Layers
    network: Network
    optimizer: torch.optim.Optimizer
    seed: int
    epochs: int  # of the whole training: the rate falls with them
    losses: list[float] = field(default_factory=list)  # of every step
    accuracies: list[float] = field(default_factory=list)  # of every epoch
    seconds: list[float] = field(default_factory=list)  # of every epoch

    @property
    def median(self) -> float:
        """Seconds of an epoch."""
        return statistics.median(self.seconds)


def start(
    layers: Layers, data: Data, seed: int, epochs: int, kind: type[Network] = LeNet
) -> Run:
    """A network with the weights that torch.nn draws for this seed."""
    images = data.train.images
    height, width = images.shape[2:]
    torch.manual_seed(seed)
    drawn = kind(pytorch(), height, width)  # in float32 on the CPU, whoever computes
    network = kind(layers, height, width)
    network.load_state_dict(drawn.state_dict())
    network.to(images.device, images.dtype)
    optimizer = torch.optim.SGD(network.parameters(), network.RATE, MOMENTUM)
    return Run(layers, network, optimizer, seed, epochs)


def batches(count: int, seed: int, epoch: int) -> tuple[Tensor, ...]:
    """Which images make the batches of an epoch; the same for every make."""
    mixed = torch.Generator().manual_seed(1000 * seed + epoch)
    return torch.randperm(count, generator=mixed).split(BATCH)


def step(run: Run, images: Tensor, labels: Tensor) -> Tensor:
    """Forward, backward, and a step downhill; gives the loss."""
    run.optimizer.zero_grad()
    loss = cross_entropy(run.network(images), labels)
    loss.backward()
    run.optimizer.step()
    return loss.detach()


def train_epoch(run: Run, split: Split, epoch: int, limit: int | None = None) -> None:
    """All images once, or the first `limit` batches; notes losses and seconds."""
    order = batches(len(split), run.seed, epoch)[:limit]
    device = split.images.device
    for group in run.optimizer.param_groups:
        group["lr"] = run.network.RATE * (1 - epoch / run.epochs)
    losses = []
    begin = time.perf_counter()
    for rows in order:
        here = rows.to(device)
        losses.append(step(run, split.images[here], split.labels[here]))
    run.losses += torch.stack(losses).tolist()  # waits for a GPU
    run.seconds.append(time.perf_counter() - begin)


@torch.no_grad()
def accuracy(run: Run, split: Split) -> float:
    """The share of images whose highest score is the right one."""
    right = 0
    for images, labels in zip(
        split.images.split(CHUNK), split.labels.split(CHUNK), strict=True
    ):
        right += int((run.network(images).argmax(1) == labels).sum())
    return right / len(split)


def train(runs: Sequence[Run], data: Data) -> Iterator[Run]:
    """Every run's epochs, in turn and each time in another order; yields after each."""
    for epoch in range(runs[0].epochs):
        first = epoch % len(runs)
        for run in (*runs[first:], *runs[:first]):
            train_epoch(run, data.train, epoch)
            run.accuracies.append(accuracy(run, data.test))
            yield run


# ---- how far apart -------------------------------------------------------------------


def few_steps(
    layers: Layers, data: Data, seed: int, epochs: int = 20, kind: type[Network] = LeNet
) -> Run:
    """The first STEPS of a training, without tests in between."""
    run = start(layers, data, seed, epochs, kind)
    for epoch in range(epochs):
        if (left := STEPS - len(run.losses)) > 0:
            train_epoch(run, data.train, epoch, left)
    return run


def apart(run: Run, other: Run) -> float:
    """The largest difference of two runs' losses in their first STEPS."""
    pairs = zip(run.losses[:STEPS], other.losses[:STEPS], strict=True)
    gaps = [abs(one - two) for one, two in pairs]
    return math.inf if any(map(math.isnan, gaps)) else max(gaps)


def allowed(data: Data, reference: Run) -> float:
    """How far right layers may be apart from PyTorch's in the first steps.

    Every float32 kernel rounds in its own way: the measure is how far PyTorch's float32
    is from PyTorch's float64. Two runs in float64 differ by less than a training shows.
    """
    images = data.train.images
    if images.dtype == torch.float64:
        return EXACT
    exact = data.to(str(images.device), torch.float64)
    kind = type(reference.network)
    measure = few_steps(pytorch(), exact, reference.seed, reference.epochs, kind)
    return FACTOR * apart(measure, reference)
