# SPDX-License-Identifier: MIT
"""Finds where the time of a call goes, for `make profile`, in plain words."""
