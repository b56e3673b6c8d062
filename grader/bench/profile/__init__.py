# SPDX-License-Identifier: MIT
"""`make profile`: where the time of a call goes, in plain words."""
