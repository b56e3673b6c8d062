# SPDX-License-Identifier: MIT
"""The programs that load student code. Only they do, and no answer of theirs is
trusted.
"""
