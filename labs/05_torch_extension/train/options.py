# SPDX-License-Identifier: MIT
"""The options of `make train`: what they may be, and the command that repeats a run."""

from __future__ import annotations

import os
from dataclasses import dataclass

import torch

from grader.errors import GraderError
from grader.options import (
    SEED,
    Arguments,
    Option,
    number,
    one_of,
    several,
    switch,
    text,
)
from train import data, layers
from train.network import NETS

DTYPES = {"f32": torch.float32, "f64": torch.float64}
USUAL_EPOCHS = {"digits": 20, "fashion": 2, "mnist": 2}

NET = Option("NET", "the network", one_of(*NETS))
DATA = Option("DATA", "the data to learn from", one_of(*data.NAMES))
EPOCHS = Option("EPOCHS", "how many passes over the data", number(1))
VARIANTS = Option("VARIANTS", "which layers", several)
DTYPE = Option("DTYPE", "f32 or f64", one_of(*DTYPES))
DEVICE = Option("DEVICE", "cpu or cuda", one_of("cpu", "cuda"))
THREADS = Option("THREADS", "how many threads", number(0, 1024))
PROFILE = Option("PROFILE", "1 shows the time of each part of a step", switch)
TO = Option("TO", "a folder", text)
OPTIONS = (NET, DATA, EPOCHS, VARIANTS, DTYPE, DEVICE, THREADS, SEED, PROFILE, TO)


@dataclass(frozen=True)
class Chosen:
    """The words of `make train`."""

    net: str
    data: str
    dtype: str
    device: str
    epochs: int
    variants: tuple[str, ...]
    seed: int
    threads: int  # 0: as PyTorch has it
    profile: bool
    to: str  # a folder; "": build/train


def read_options() -> Chosen:
    """The values of all options. Raises GraderError for a wrong one."""
    arguments = Arguments(OPTIONS, os.environ)
    variants = arguments[VARIANTS] or layers.MAKES
    for name in variants:
        if name not in layers.MAKES:
            known = ", ".join(layers.MAKES)
            raise GraderError(f"VARIANTS={name}: there are {known}")
    learned = arguments[DATA]
    made = Chosen(
        net=arguments[NET],
        data=learned,
        dtype=arguments[DTYPE],
        device=arguments[DEVICE],
        epochs=arguments[EPOCHS] or USUAL_EPOCHS[learned],
        variants=tuple(variants),
        seed=arguments[SEED] or 0,
        threads=arguments[THREADS] or 0,
        profile=arguments[PROFILE],
        to=arguments[TO],
    )
    if made.device == "cuda" and not torch.cuda.is_available():
        raise GraderError(
            "DEVICE=cuda: this PyTorch sees no GPU; DEVICE=cpu is the default"
        )
    return made


def command(chosen: Chosen) -> str:
    """The command that was given, as make has it."""
    words = ["make train"]
    usually = {"net": "lenet", "data": "digits", "dtype": "f32", "device": "cpu"}
    for name, usual in usually.items():
        if getattr(chosen, name) != usual:
            words.append(f"{name.upper()}={getattr(chosen, name)}")
    if chosen.epochs != USUAL_EPOCHS[chosen.data]:
        words.append(f"EPOCHS={chosen.epochs}")
    if chosen.variants != tuple(layers.MAKES):
        words.append(f"VARIANTS={','.join(chosen.variants)}")
    for name in ("seed", "threads"):
        if value := getattr(chosen, name):
            words.append(f"{name.upper()}={value}")
    words += ["PROFILE=1"] if chosen.profile else []
    words += [f"TO={chosen.to}"] if chosen.to else []
    return " ".join(words)
