// SPDX-License-Identifier: MIT
/* correct - no fault: the frame alone */
#include "frame.h"
#include "forward.h"
#include "backward.h"
