# SPDX-License-Identifier: MIT
"""exit_0 - ends the process in the middle of a call, status 0"""

import sys

from frame import *


def forward(input, other):
    sys.exit(0)
