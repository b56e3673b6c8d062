// SPDX-License-Identifier: MIT
/* forward_only - defines forward and no backward */
#include "frame.h"
#include "forward.h"
