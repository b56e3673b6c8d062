# SPDX-License-Identifier: MIT
"""convlab's own tests."""
