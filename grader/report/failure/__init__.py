# SPDX-License-Identifier: MIT
"""What a report shows of a failing check beside its sentences."""
