# SPDX-License-Identifier: MIT
"""double_fork - leaves a grandchild behind that sleeps 20 s; right"""

import os
import time

from frame import *


def leave_grandchild():
    child = os.fork()
    if child == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(20)
        os._exit(0)
    os.waitpid(child, 0)


def forward(input, other):
    leave_grandchild()
    return product(input, other)
