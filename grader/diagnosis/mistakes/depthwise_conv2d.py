# SPDX-License-Identifier: MIT
"""Known mistakes of depthwise_conv2d: those of conv2d."""

from grader.diagnosis.mistakes.conv2d import MISTAKES as OF_CONV2D

MISTAKES = OF_CONV2D
