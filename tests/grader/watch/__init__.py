# SPDX-License-Identifier: MIT
"""Tests of `make watch`, in a real terminal."""
