# SPDX-License-Identifier: MIT
"""allocate_slowly - asks for 32 MiB until refused, at most 10 GiB, all touched"""

from frame import *

pieces = []  # kept


def forward(input, other):
    for _ in range(320):
        pieces.append(b"x" * (32 << 20))  # refused: MemoryError
    raise MemoryError("10 GiB were given")
