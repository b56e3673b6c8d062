# SPDX-License-Identifier: MIT
"""Reads course.toml, in which an instructor chooses tasks, points and deadlines."""
