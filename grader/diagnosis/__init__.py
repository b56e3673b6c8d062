# SPDX-License-Identifier: MIT
"""A wrong answer: the named mistake, the region, the line."""
