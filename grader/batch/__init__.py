# SPDX-License-Identifier: MIT
"""A class in one command: jobs in a folder, and processes that take them from there."""
