# SPDX-License-Identifier: MIT
"""undefined_symbol - imports a module that does not exist"""

import convlab_module_that_is_nowhere  # noqa: F401
from frame import *
