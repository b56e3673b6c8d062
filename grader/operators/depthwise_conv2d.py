# SPDX-License-Identifier: MIT
"""depthwise_conv2d: conv2d with one group per input channel."""

from __future__ import annotations

from grader.operators.conv2d import Depthwise

OPERATOR = Depthwise()
