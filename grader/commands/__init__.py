# SPDX-License-Identifier: MIT
"""What `make` calls: a module for each command."""
