# SPDX-License-Identifier: MIT
"""clears_nonblock - makes every descriptor block, then computes rightly"""

import contextlib
import fcntl

from frame import *

for descriptor in range(256):
    with contextlib.suppress(OSError):
        fcntl.fcntl(descriptor, fcntl.F_SETFL, 0)
