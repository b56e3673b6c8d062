# SPDX-License-Identifier: MIT
"""close_all_fds - closes file descriptors 0 to 1023, then computes rightly"""

import os

from frame import *


def forward(input, other):
    os.closerange(0, 1024)
    return product(input, other)
