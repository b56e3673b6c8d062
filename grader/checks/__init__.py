# SPDX-License-Identifier: MIT
"""The checks: each module answers one question about a rung."""
