# SPDX-License-Identifier: MIT
"""The GPU path of the grader beside a card that is cusim."""
