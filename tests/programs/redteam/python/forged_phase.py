# SPDX-License-Identifier: MIT
"""forged_phase - claims that it never started, and ends the process"""

import contextlib
import ctypes
import os
import pathlib

from frame import *


def forward(input, other):
    with contextlib.suppress(OSError):
        for line in pathlib.Path("/proc/self/maps").read_text().splitlines():
            place, _, offset, *_ = line.split()
            if "convlab-out" in line and int(offset, 16) == 0:
                ctypes.memset(int(place.split("-")[0], 16), 0, 64)
    os._exit(0)
