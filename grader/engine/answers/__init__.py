# SPDX-License-Identifier: MIT
"""What a grading remembers, and when it holds."""
