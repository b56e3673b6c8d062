// SPDX-License-Identifier: MIT
/* arrays - does what the control does; Python: multiplies with NumPy */
#include "frame.h"
#include "forward.h"
#include "backward.h"
