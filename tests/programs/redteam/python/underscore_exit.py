# SPDX-License-Identifier: MIT
"""underscore_exit - ends the process in the middle of a call, no clean-up"""

import os

from frame import *


def forward(input, other):
    os._exit(0)
