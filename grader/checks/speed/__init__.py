# SPDX-License-Identifier: MIT
"""How fast is a rung, and how fast could it be?"""
