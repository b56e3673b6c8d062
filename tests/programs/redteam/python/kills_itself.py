# SPDX-License-Identifier: MIT
"""kills_itself - by the signal that tells of a want of memory"""

import os
import signal

from frame import *


def forward(input, other):
    os.kill(os.getpid(), signal.SIGKILL)
