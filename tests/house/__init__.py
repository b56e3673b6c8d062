# SPDX-License-Identifier: MIT
"""The house itself: style, references, the order of its rooms."""
