# SPDX-License-Identifier: MIT
"""Checks of views: the ladder labs/02_naive_c/tensor_view."""
