# SPDX-License-Identifier: MIT
"""One question a module: are the values right, are the gradients right, ..."""
