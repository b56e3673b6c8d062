# SPDX-License-Identifier: MIT
"""clears_nonblock - makes every descriptor block, then computes rightly"""

import contextlib
import fcntl
import os

from frame import *

for descriptor in range(os.sysconf("SC_OPEN_MAX")):
    with contextlib.suppress(OSError):
        fcntl.fcntl(descriptor, fcntl.F_SETFL, 0)
