# SPDX-License-Identifier: MIT
"""Builds the kernels and packages of lab 05 as their setup.py builds them."""
