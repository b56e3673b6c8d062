# SPDX-License-Identifier: MIT
"""prints_traceback - prints a traceback with a line of another file, and dies"""

import os
import signal

from frame import *


def forward(input, other):
    os.write(2, b'  File "labs/../../../../etc/passwd", line 1, in forward\n')
    os.kill(os.getpid(), signal.SIGSEGV)
    return product(input, other)
