# SPDX-License-Identifier: MIT
"""What is asked of one rung, and whom it is asked with."""
