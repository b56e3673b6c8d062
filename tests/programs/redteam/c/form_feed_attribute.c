// SPDX-License-Identifier: MIT
/* form_feed_attribute - the same by a line that goes on behind a form feed */
#include "frame.h"

// clang-format off
#define QUIET __attribute__((no_san\
itize("address")))
// clang-format on
#define UNSEEN 1

#include "reads_before.h"
