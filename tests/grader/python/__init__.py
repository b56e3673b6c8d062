# SPDX-License-Identifier: MIT
"""Tests of convlab, the face of the notebooks."""
