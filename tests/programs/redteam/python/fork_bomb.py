# SPDX-License-Identifier: MIT
"""fork_bomb - starts 200 processes that sleep 20 s each"""

import os
import time

from frame import *


def forward(input, other):
    for _ in range(200):
        if os.fork() == 0:  # refused: OSError
            time.sleep(20)
            os._exit(0)
    return product(input, other)
