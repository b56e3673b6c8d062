# SPDX-License-Identifier: MIT
"""self_stop - stops itself in the middle of a call, as if it were frozen"""

import os
import signal

from frame import *


def forward(input, other):
    os.kill(os.getpid(), signal.SIGSTOP)
    return product(input, other)
