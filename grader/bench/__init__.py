# SPDX-License-Identifier: MIT
"""Times every rung on every case, for `make bench`."""
