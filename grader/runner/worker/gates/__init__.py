# SPDX-License-Identifier: MIT
"""The gates of lab 05 as the worker `tools` runs them: one function each."""
