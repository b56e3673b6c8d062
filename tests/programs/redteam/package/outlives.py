# SPDX-License-Identifier: MIT
"""A convlab_ext with a process that leaves its session, and waits for the results."""

import os
import sys
import time

LATER = "import time; time.sleep(60)  # worker"

if not os.fork():
    os.setsid()
    if not os.fork():
        os.execv(sys.executable, [sys.executable, "-S", "-c", LATER])
    os._exit(0)
time.sleep(1)
os._exit(0)
