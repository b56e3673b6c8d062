# SPDX-License-Identifier: MIT
"""Searches a rung's text and its built files for things that no rung needs."""
