# SPDX-License-Identifier: MIT
"""`make watch`: one process grades each saved file, and a terminal shows the result."""
