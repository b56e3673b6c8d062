# SPDX-License-Identifier: MIT
"""Shows more of a failing check than its sentences: source lines, values, output."""
