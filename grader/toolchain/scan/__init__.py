# SPDX-License-Identifier: MIT
"""What a rung's text and its built files hold that no rung needs."""
