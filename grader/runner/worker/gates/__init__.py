# SPDX-License-Identifier: MIT
"""Runs the gates of lab 05 in the worker `tools`: one function for each gate."""
