// SPDX-License-Identifier: MIT
/* Stands in for a lower rung where the grader asks which cases a rung leaves to it:
 * those that come back with this answer. The arguments do not matter. */
#include "tensor.h"

status_t fallback_forward(void);
status_t fallback_backward(void);

status_t fallback_forward(void)
{
    return STATUS_NOT_IMPLEMENTED;
}

status_t fallback_backward(void)
{
    return STATUS_NOT_IMPLEMENTED;
}
