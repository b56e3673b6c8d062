# SPDX-License-Identifier: MIT
"""subm_conv3d: submanifold sparse convolution, by a dense convolution and a gather."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import torch
from signatures import Argument

from grader.operators.case import Case
from grader.operators.entry import Grads, Operator, Tensors, numel, side, some_layout
from grader.operators.primitives import EVERY_CONVOLUTION, MATRIX_PRODUCTS

BOX = {"D": 4, "H": 5, "W": 7}  # points are drawn in boxes; a case may name others
FIRST = (-1, -2, -3)  # z, y and x of a box's first corner
FAR = 2**31 - 3  # the last x of a box is 3
GAP = 64  # no window reaches so far


class SubmConv3d(Operator):
    """Zeros where there is no point make the dense convolution the same sum."""

    name = "subm_conv3d"
    forbidden = (EVERY_CONVOLUTION, "*sparse*")
    primitives = (
        *MATRIX_PRODUCTS,
        "_unique2",
        "unique_dim",
        "sort",
        "argsort",
        "searchsorted",
        "nonzero",
    )

    def fill(
        self, argument: Argument, shape: tuple[int, ...], case: Case, rng: Any
    ) -> torch.Tensor:
        """Coordinates are distinct places in N boxes, in random order. With values =
        "far" the halves of a box lie at the ends of int32: side by side if it wraps.
        """
        if argument.name != "coordinates":
            return super().fill(argument, shape, case, rng)
        boxes = [case.sizes.get(name, usual) for name, usual in BOX.items()]
        boxes = [case.sizes.get("N", 1), *boxes]
        chosen = torch.randperm(numel(boxes), generator=rng)[: shape[0]]
        places = torch.stack(torch.unravel_index(chosen, boxes), dim=1)  # (P, 4)
        places += torch.tensor((0, *FIRST))
        if case.values == "far":
            places[:, 3] += torch.where(places[:, 2] < 0, -FAR, FAR - 1)
        return places

    def read_from_data(self, inputs: Tensors) -> dict[str, Any]:
        """The volume's sizes, which its callers know (spconv: spatial_shape)."""
        return {"room": self._volume(self._places(inputs["coordinates"]))}

    def reference(
        self, *inputs: Any, room: list[int] | None = None, **options: Any
    ) -> Any:
        """Scatter to a volume, torch.nn.functional.conv3d, gather. Without the volume's
        sizes, `room`, they are read from the coordinates; with them, no point lies
        outside of it, and nothing is read.

        Planes are images of a conv2d, which is the faster one of the two.
        """
        features, coordinates, weight, bias = inputs
        places = self._places(coordinates) if room is None else _from_0(coordinates)
        n, z, y, x = places
        volume = features.new_zeros(*(room or self._volume(places)), features.shape[1])
        volume = volume.index_put(places, features).movedim(-1, 2)  # (N, D, IC, H, W)
        window = self._window(weight, options)
        if weight.shape[2] == 1:
            flat = {name: values[1:] for name, values in window.items()}
            images = volume.flatten(0, 1)  # (N*D, IC, H, W)
            whole = torch.nn.functional.conv2d(images, weight[:, :, 0], bias, **flat)
            return whole.unflatten(0, volume.shape[:2])[n, z, :, y, x]  # (P, OC)
        whole = torch.nn.functional.conv3d(
            volume.transpose(1, 2), weight, bias, **window
        )
        return whole[n, :, z, y, x]  # (P, OC)

    def _places(self, coordinates: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Coordinates counted from the smallest along each axis; points further apart
        than GAP are drawn together.
        """
        return tuple(_drawn_together(t) for t in _from_0(coordinates))

    def _volume(self, places: tuple[torch.Tensor, ...]) -> list[int]:
        """As large as the points need."""
        return [int(t.max()) + 1 if t.numel() else 1 for t in places]

    def _window(self, weight: torch.Tensor, options: Any) -> dict[str, Any]:
        dilation = options["dilation"]
        padding = [d * (k // 2) for d, k in zip(dilation, weight.shape[2:])]
        return {"padding": tuple(padding), "dilation": dilation}

    def saved(self, inputs: Tensors, case: Case) -> list[Any]:
        """Row numbers in a volume; a filter that is 1 at its k-th place alone moves
        there what each point reads.
        """
        n, z, y, x = self._places(inputs["coordinates"])
        options = self.signature.resolve(case.options)
        kernel = tuple(inputs["weight"].shape[2:])
        P, places = n.numel(), numel(kernel)
        room = self._volume((n, z, y, x))
        volume = torch.zeros(room, dtype=torch.float64)  # (N, D, H, W)
        volume[n, z, y, x] = torch.arange(1, P + 1, dtype=torch.float64)
        one_place = torch.eye(places, dtype=torch.float64).reshape(-1, 1, *kernel)
        window = self._window(inputs["weight"], options)
        seen = torch.nn.functional.conv3d(volume[:, None], one_place, **window)
        read = seen[n, :, z, y, x].T.long() - 1  # (KD*KH*KW, P), -1 is nobody
        count = (read >= 0).sum(1)  # (KD*KH*KW)
        order = torch.argsort((read < 0).int(), dim=1, stable=True)
        rulebook = torch.stack([read.gather(1, order), order], dim=2)
        valid = torch.arange(P)[None, :] < count[:, None]
        valid = valid[:, :, None].expand(places, P, 2)
        return [(rulebook.int(), valid), (count, None)]

    def longer(self, case: Case) -> Case:
        """One point more, and no two equal."""
        return replace(case, sizes={**case.sizes, "P": case.sizes["P"] + 1})

    def terms(self, case: Case, inputs: Tensors) -> dict[str, int]:
        """The window forward; filters or points backward."""
        OC, IC, KD, KH, KW = inputs["weight"].shape
        P = inputs["features"].shape[0]
        return {
            "output": IC * KD * KH * KW + 1,
            "features": OC * KD * KH * KW,
            "weight": P,
            "bias": P,
        }

    def scales(
        self, inputs: Tensors, case: Case, grad_outputs: Grads
    ) -> tuple[list[torch.Tensor], list[torch.Tensor | None]]:
        """Absolute values of everything but the coordinates."""
        absolute = {k: t.abs() if k != "coordinates" else t for k, t in inputs.items()}
        return self.differentiate(absolute, case, [g.abs() for g in grad_outputs])

    def tags(self, case: Case) -> dict[str, bool]:
        """What is left out of a gradient call are whole gradients."""
        return {"all": True}

    def draw(self, rng: random.Random) -> dict[str, Any]:
        """Up to two boxes, odd kernels, planes among them."""
        return {
            "N": rng.randint(1, 2),
            "P": side(rng, 1, 60),
            "IC": side(rng, 1, 4),
            "OC": side(rng, 1, 4),
            "KD": rng.choice([1, 3, 3]),
            "KH": rng.choice([1, 3, 5]),
            "KW": rng.choice([1, 3, 3]),
            "dilation": [rng.randint(1, 2), rng.randint(1, 2), rng.randint(1, 3)],
            "without": ["bias"] if rng.random() < 0.3 else [],
            "layout": some_layout(rng, "features", "weight", "grad_output"),
        }


def _from_0(coordinates: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Coordinates counted from the smallest along each axis."""
    axes = coordinates.long().unbind(1)
    return tuple(t - t.min() if t.numel() else t for t in axes)


def _drawn_together(axis: torch.Tensor) -> torch.Tensor:
    """Numbers from 0 on, none further from the next than GAP."""
    values, number = torch.unique(axis, return_inverse=True)
    near: torch.Tensor = values.diff(prepend=values[:1]).clamp(max=GAP).cumsum(0)
    return near[number]


OPERATOR = SubmConv3d()
