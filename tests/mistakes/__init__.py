# SPDX-License-Identifier: MIT
"""Wrong submissions, and what the detector is to call them."""
