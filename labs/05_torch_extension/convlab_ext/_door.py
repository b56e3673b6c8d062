# SPDX-License-Identifier: MIT
"""The check at the door for tensors without data: arguments.h in Python.

torch.compile and torch.export call an operator with fake tensors, which have sizes, a
dtype and a device, and no numbers. Its C++ function is not run, and neither is its
check: a call that cannot be right would be compiled, and fail when it runs. Therefore
`register` opens a door before each rule `fake`. What is asked, in which order and with
which words, is what common/check.c asks; tests compare the two, sentence by sentence.

Sizes may be symbols. torch._check takes them: what is known is looked at now, the rest
becomes a condition that the compiled program keeps.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import torch
from torch import Tensor

from convlab_ext._windows import extent

MAX_AXES = 6  # of a tensor, as in tensor.h
MAX_OPTION = 1 << 20
DTYPES = {
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float32: "f32",
    torch.float64: "f64",
    torch.int32: "i32",
    torch.int64: "i64",
}
REAL = ("f16", "bf16", "f32", "f64")


class Door:
    """Statements about the arguments of one call; the first that is false raises."""

    def __init__(self, operator: str) -> None:
        """To this operator, whose name begins each sentence."""
        self.operator = operator
        self.first: tuple[str, Tensor] | None = None  # whose dtype all tensors have

    def must(self, holds: Any, sentence: str, *words: Any) -> None:
        """Raises RuntimeError if `holds` is false: the sentence, its {} filled in."""

        def said() -> str:
            return f"{self.operator}: " + sentence.format(*map(shown, words))

        torch._check(holds, said)

    # ---- tensors ---------------------------------------------------------------------

    def takes(self, name: str, tensor: Tensor, text: str) -> None:
        """As many axes as the text: two for "(N, IC)", one or more for "(..., D)"."""
        self._admit(name, tensor)
        more = text.startswith("(...")
        axes = text.count(",") + (not more)
        fits = tensor.dim() >= axes if more else tensor.dim() == axes
        self.must(fits, "'{}' must be {}, got {}", name, text, tensor.shape)

    def takes_shape(self, name: str, tensor: Tensor, shape: Sequence[Any]) -> None:
        """These sizes."""
        self._admit(name, tensor)
        self.has_shape(name, tensor, shape)

    def has_shape(self, name: str, tensor: Tensor, shape: Sequence[Any]) -> None:
        """A tensor that was let in has these sizes."""
        sentence = "'{}' must be {} for these arguments, got {}"
        pairs = zip_longest(tensor.shape, shape, fillvalue=-1)
        for size, right in pairs:
            self.must(size == right, sentence, name, shape, tensor.shape)

    def has_elements(self, name: str, sizes: Sequence[Any], first: int) -> None:
        """At least one element along each axis from `first` on."""
        sentence = "'{}' {} is empty along axis {}, expected at least 1"
        for axis in range(first, len(sizes)):
            self.must(sizes[axis] > 0, sentence, name, sizes, axis)

    def _admit(self, name: str, tensor: Tensor) -> None:
        """What any tensor must be by itself, and like the first one."""
        axes, dtype = tensor.dim(), dtype_name(tensor)
        sentence = "'{}' has {} axes, expected 0 to {}"
        self.must(axes <= MAX_AXES, sentence, name, axes, MAX_AXES)
        if self.first is None:
            self.first = name, tensor
            sentence = "'{}' is {}, expected f16, bf16, f32 or f64"
            self.must(dtype in REAL, sentence, name, dtype)
        whose, like = self.first
        same, words = tensor.device == like.device, (name, tensor.device, whose)
        sentence = "'{}' is on {}, '{}' on {}, expected one device"
        self.must(same, sentence, *words, like.device)
        same, words = tensor.dtype == like.dtype, (name, dtype, whose)
        sentence = "'{}' is {}, '{}' is {}, expected the same dtype"
        self.must(same, sentence, *words, dtype_name(like))

    def broadcast(self, names: Sequence[str], left: Any, right: Any) -> Sequence[Any]:
        """The common shape of two operands, aligned at the last axis."""
        sentence = "'{}' {} and '{}' {} cannot be broadcast: axis {} is {} and {}"
        try:
            return torch.broadcast_shapes(left, right)
        except RuntimeError:
            axes = max(len(left), len(right))
            words = names[0], left, names[1], right
            pair = [(1,) * (axes - len(sizes)) + (*sizes,) for sizes in (left, right)]
            for axis, (one, other) in enumerate(zip(*pair)):
                fits = one == other or one == 1 or other == 1
                self.must(fits, sentence, *words, axis, one, other)
            raise

    # ---- options ---------------------------------------------------------------------

    def pairs(self, **options: Sequence[Any]) -> None:
        """Height and width: PyTorch lets lists of other lengths through."""
        sentence = "'{}' has {} numbers, expected 2, for height and width"
        for name, numbers in options.items():
            self.must(len(numbers) == 2, sentence, name, len(numbers))

    def option(self, name: str, value: Any, least: int) -> None:
        """A whole number of at least `least`."""
        empty = " (was the options struct filled?)" if value == 0 else ""
        self.must(
            value >= least,
            "{} is {}, expected at least {}{}",
            name,
            value,
            least,
            empty,
        )
        sentence = "{} is {}, expected at most {}"
        self.must(value <= MAX_OPTION, sentence, name, value, MAX_OPTION)

    def window_options(self, stride: Any, padding: Any, dilation: Any) -> None:
        """Of both axes."""
        for i, axis in enumerate(("_h", "_w")):
            self.option(f"stride{axis}", stride[i], 1)
            self.option(f"padding{axis}", padding[i], 0)
            self.option(f"dilation{axis}", dilation[i], 1)

    def windows(self, image: Any, kernel: Any, *options: Any) -> list[Any]:
        """OH and OW, at least one each, by stride, padding and dilation."""
        found = []
        for axis, size, taps, *numbers in zip(("_h", "_w"), image, kernel, *options):
            found.append(extent(size, taps, *numbers))
            _, padding, dilation = numbers
            span, room = dilation * (taps - 1) + 1, size + 2 * padding
            sentence = (
                f"kernel{axis} {{}} with dilation{axis} {{}} spans {{}}, the image has "
                f"{{}} with padding{axis} {{}}"
            )
            self.must(found[-1] >= 1, sentence, taps, dilation, span, room, padding)
        return found


def shown(word: Any) -> Any:
    """Sizes as (2, 3), or (2) for a single one; anything else as it is."""
    if isinstance(word, Sequence) and not isinstance(word, str):
        return f"({', '.join(map(str, word))})"
    return word


def dtype_name(tensor: Tensor) -> str:
    """f32, or PyTorch's name of a dtype that no kernel knows."""
    return DTYPES.get(tensor.dtype, str(tensor.dtype).removeprefix("torch."))
