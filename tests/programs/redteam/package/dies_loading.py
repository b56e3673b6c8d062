# SPDX-License-Identifier: MIT
"""A convlab_ext whose library dies while it is loaded, and tells a hidden case."""

import ctypes
from pathlib import Path

ctypes.CDLL(str(Path(__file__).with_name("dies_loading.so")))
