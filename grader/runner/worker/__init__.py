# SPDX-License-Identifier: MIT
"""The only programs that load student code. Nothing here is trusted with an answer."""
