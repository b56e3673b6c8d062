# SPDX-License-Identifier: MIT
"""The course: files and lab.toml as tasks, rungs, points, bands and uses."""
