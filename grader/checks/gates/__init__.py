# SPDX-License-Identifier: MIT
"""Does an operator of lab 05 keep to what PyTorch asks of one?"""
