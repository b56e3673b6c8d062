# SPDX-License-Identifier: MIT
"""thread_bomb - starts 2000 threads that sleep 20 s each"""

import threading
import time

from frame import *


def forward(input, other):
    for _ in range(2000):  # refused: RuntimeError
        threading.Thread(target=time.sleep, args=(20,), daemon=True).start()
    return product(input, other)
