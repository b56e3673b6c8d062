# SPDX-License-Identifier: MIT
"""subm_conv2d: submanifold sparse convolution, by a dense convolution and a gather."""

from __future__ import annotations

import random
from typing import Any

import torch
from convlab.operators import Argument

from grader.operators.base import Case, Operator, Tensors, side, some_layout
from grader.operators.primitives import EVERY_CONVOLUTION, MATRIX_PRODUCTS

PLANE = 9  # points are drawn on planes of this height and width


class SubmConv2d(Operator):
    """Zeros where there is no point make the dense convolution the same sum."""

    name = "subm_conv2d"
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
        """Coordinates are distinct places on N planes, in random order."""
        if argument.name != "coordinates":
            return super().fill(argument, shape, case, rng)
        N = case.sizes.get("N", 1)
        places = torch.randperm(N * PLANE * PLANE, generator=rng)[: shape[0]]
        n, y, x = places // PLANE**2, places // PLANE % PLANE, places % PLANE
        return torch.stack([n, y - 3, x - 3], dim=1)  # (P, 3), also left of zero

    def reference(self, *inputs: Any, **options: Any) -> Any:
        """Scatter to a plane, torch.nn.functional.conv2d, gather."""
        features, coordinates, weight, bias = inputs
        n, y, x = self._places(coordinates)
        plane = features.new_zeros(*self._plane(n), features.shape[1])  # (N, H, W, IC)
        plane = plane.index_put((n, y, x), features).permute(0, 3, 1, 2)
        whole = torch.nn.functional.conv2d(
            plane, weight, bias, **self._window(weight, options)
        )
        return whole[n, :, y, x]  # (P, OC)

    def _places(self, coordinates: torch.Tensor) -> tuple[torch.Tensor, ...]:
        n, y, x = coordinates.long().unbind(1)
        return n, y + 3, x + 3

    def _plane(self, n: torch.Tensor) -> tuple[int, int, int]:
        return int(n.max()) + 1 if n.numel() else 1, PLANE, PLANE

    def _window(self, weight: torch.Tensor, options: Any) -> dict[str, Any]:
        dilation = options["dilation"]
        padding = [d * (k // 2) for d, k in zip(dilation, weight.shape[2:])]
        return {"padding": tuple(padding), "dilation": dilation}

    def saved(self, inputs: Tensors, case: Case) -> list[Any]:
        """Row numbers on a plane, unfolded like an image: who reads whom."""
        n, y, x = self._places(inputs["coordinates"])
        options = self.signature.resolve(case.options)
        kernel = tuple(inputs["weight"].shape[2:])
        P, places = n.numel(), kernel[0] * kernel[1]
        plane = torch.zeros(self._plane(n), dtype=torch.float64)  # (N, H, W)
        plane[n, y, x] = torch.arange(1, P + 1, dtype=torch.float64)
        window = self._window(inputs["weight"], options)
        seen = torch.nn.functional.unfold(plane[:, None], kernel, **window)
        read = seen[n, :, y * PLANE + x].T.long() - 1  # (KH*KW, P), -1 is nobody
        count = (read >= 0).sum(1)  # (KH*KW)
        order = torch.argsort((read < 0).int(), dim=1, stable=True)
        rulebook = torch.stack([read.gather(1, order), order], dim=2)  # (KH*KW, P, 2)
        valid = torch.arange(P)[None, :] < count[:, None]
        valid = valid[:, :, None].expand(places, P, 2)
        return [(rulebook, valid), (count, None)]

    def terms(self, case: Case, inputs: Tensors) -> dict[str, int]:
        """The window forward; filters or points backward."""
        OC, IC, KH, KW = inputs["weight"].shape
        P = inputs["features"].shape[0]
        return {
            "output": IC * KH * KW + 1,
            "features": OC * KH * KW,
            "weight": P,
            "bias": P,
        }

    def scales(
        self, inputs: Tensors, case: Case, grad_outputs: list[torch.Tensor]
    ) -> tuple[list[torch.Tensor], list[torch.Tensor | None]]:
        """Absolute values of everything but the coordinates."""
        absolute = {k: t.abs() if k != "coordinates" else t for k, t in inputs.items()}
        return self.differentiate(absolute, case, [g.abs() for g in grad_outputs])

    def draw(self, rng: random.Random) -> dict[str, Any]:
        """Up to two planes, odd kernels."""
        return {
            "N": rng.randint(1, 2),
            "P": side(rng, 1, 40),
            "IC": side(rng, 1, 4),
            "OC": side(rng, 1, 4),
            "KH": rng.choice([1, 3, 5]),
            "KW": rng.choice([1, 3, 3]),
            "dilation": [rng.randint(1, 2), rng.randint(1, 3)],
            "without": ["bias"] if rng.random() < 0.3 else [],
            "layout": some_layout(rng, "features", "weight", "grad_output"),
        }


OPERATOR = SubmConv2d()
