# SPDX-License-Identifier: MIT
"""`make watch`: a process that grades what was saved, and a terminal that shows it."""
