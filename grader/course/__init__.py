# SPDX-License-Identifier: MIT
"""Reads the course from files and lab.toml: tasks, rungs, points, bands and uses."""
