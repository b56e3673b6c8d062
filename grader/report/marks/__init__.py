# SPDX-License-Identifier: MIT
"""Makes the pages about a course: for a student, and for the instructor."""
