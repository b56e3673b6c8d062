# SPDX-License-Identifier: MIT
"""Reads a class' download as a platform gives it, one module for each platform."""
