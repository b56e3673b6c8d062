# SPDX-License-Identifier: MIT
"""correct - no fault: the frame alone"""

from frame import *
