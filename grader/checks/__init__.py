# SPDX-License-Identifier: MIT
"""The checks: each module answers one question, for example: are values right?"""
