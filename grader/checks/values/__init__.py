# SPDX-License-Identifier: MIT
"""Are results and gradients right, and by which rules were they made?"""
