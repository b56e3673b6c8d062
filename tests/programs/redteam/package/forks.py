# SPDX-License-Identifier: MIT
"""A convlab_ext that starts 400 processes; each of them waits."""

import os
import time

for _ in range(400):
    if not os.fork():
        break
time.sleep(60)
