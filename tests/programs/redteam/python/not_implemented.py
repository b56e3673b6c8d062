# SPDX-License-Identifier: MIT
"""not_implemented - says that it is not written yet"""

from frame import *


def forward(input, other):
    raise NotImplementedError
