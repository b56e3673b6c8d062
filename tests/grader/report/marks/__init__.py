# SPDX-License-Identifier: MIT
"""The pages about a course, and a class made up for them."""
