# SPDX-License-Identifier: MIT
"""Runs student code: workers load it, and the supervisor, which never does, starts
them.
"""
