# SPDX-License-Identifier: MIT
"""The book that `make docs` builds."""
