# SPDX-License-Identifier: MIT
"""The commands that `make` calls: a module for each command."""
