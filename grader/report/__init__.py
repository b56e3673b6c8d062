# SPDX-License-Identifier: MIT
"""Reports: all from one results.json. Printing happens here and nowhere else."""
