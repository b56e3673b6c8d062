# SPDX-License-Identifier: MIT
"""Explains a wrong answer: by a known mistake, a region of the result, or a line."""
