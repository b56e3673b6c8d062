# SPDX-License-Identifier: MIT
"""What runs the checks in which order, and what follows: points and results.json."""
