# SPDX-License-Identifier: MIT
"""Does a rung touch only what is its own?"""
