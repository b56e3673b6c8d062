# SPDX-License-Identifier: MIT
"""What a handout brings beside the sources: starters as they were, sealed solutions."""
