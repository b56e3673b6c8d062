# SPDX-License-Identifier: MIT
"""convlab: what Python needs to know of the operators of this course."""
