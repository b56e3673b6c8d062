# SPDX-License-Identifier: MIT
"""`make progress`: what is next, and how it came to where it stands."""
