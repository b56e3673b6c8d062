# SPDX-License-Identifier: MIT
"""What runs student code: the supervisor, which never does, and the workers."""
