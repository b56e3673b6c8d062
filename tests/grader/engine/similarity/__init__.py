# SPDX-License-Identifier: MIT
"""Fingerprints of sources, and pairs of files that have much in common."""
