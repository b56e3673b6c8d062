# SPDX-License-Identifier: MIT
"""One token changed: what is drawn, run and argued."""
