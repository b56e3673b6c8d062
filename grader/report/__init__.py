# SPDX-License-Identifier: MIT
"""Makes all reports from one results.json. Only this package prints."""
