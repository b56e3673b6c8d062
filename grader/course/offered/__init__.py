# SPDX-License-Identifier: MIT
"""What an instructor offers: course.toml chooses tasks, points and deadlines."""
