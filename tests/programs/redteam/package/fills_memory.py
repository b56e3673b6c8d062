# SPDX-License-Identifier: MIT
"""A convlab_ext that takes more memory than there may be, a piece in each child."""

import os
import time

for _ in range(8):
    if not os.fork():
        held = b"x" * (1 << 29)
        time.sleep(60)
time.sleep(60)
